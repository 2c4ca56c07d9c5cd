import { randomBytes, randomFillSync, randomUUID } from 'node:crypto'

// Crockford's base 32: no I, L, O and U, so that an id survives being read aloud. The order of the digits is that of ASCII.
const crockfordDigits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const timeDigitCount = 10
const randomDigitCount = 16

/**
 * A ULID: 26 characters that sort by time of creation, for `X-Request-Id`. Two of one millisecond have no order.
 *
 * @param nowMs epoch milliseconds, below 2^48.
 * @see https://github.com/ulid/spec
 */
export function createRequestId(nowMs: number): string {
  if (randomOffset === randomPool.length) {
    randomFillSync(randomPool)
    randomOffset = 0
  }
  const start = randomOffset
  randomOffset += randomDigitCount
  // 32 divides 256, so five bits of each byte are as evenly spread as the byte.
  for (let at = 0; at < randomDigitCount; at += 1) {
    randomDigits[at] = crockfordDigits.charCodeAt((randomPool[start + at] ?? 0) % 32)
  }
  // In one go: a text that grows by single digits is a chain of sixteen objects.
  return timeDigits(nowMs) + randomDigits.toString('latin1')
}

// A call for random bytes costs as much for 16 of them as for thousands; each byte is used once.
const randomPool = new Uint8Array(256 * randomDigitCount)
let randomOffset = randomPool.length
const randomDigits = Buffer.alloc(randomDigitCount)

// Many requests come in the same millisecond.
let lastTime = { ms: -1, digits: '' }

function timeDigits(nowMs: number): string {
  if (lastTime.ms === nowMs) return lastTime.digits
  let digits = ''
  let rest = nowMs
  for (let digit = 0; digit < timeDigitCount; digit += 1) {
    digits = crockfordDigits.charAt(rest % 32) + digits
    rest = Math.floor(rest / 32)
  }
  lastTime = { ms: nowMs, digits }
  return digits
}

/** A UUID of version 4 that names one import: `id` and `import_id` of its answer, `c__import_id` of its quarantine. */
export function createImportId(): string {
  return randomUUID()
}

/** 32 hex digits out of 128 random bits; the catalog makes `t_…` ids of resources of them. */
export function createResourceHex(): string {
  return randomBytes(16).toString('hex')
}
