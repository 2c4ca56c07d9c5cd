import t from 'tap'
import { createCoercion } from '../../src/codec/coercion/coercion.ts'
import { parseColumnType } from '../../src/schema/types/column-type.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const seed = testSeed()
const random = new SeededRandom(seed)
const count = byTier({ quick: 2_000, full: 15_000, soak: 2_000_000 })
const judge = createCoercion(parseColumnType('Float32'))

const view = new DataView(new ArrayBuffer(4))
function floatOf(bits: number): number {
  view.setUint32(0, bits)
  return view.getFloat32(0)
}

/** All decimals of a positive number in units of 10^-160 of which every double in reach is a multiple. */
const scale = 160
function unitsOf(double: number): bigint {
  let [whole, halvings] = [double, 0]
  while (!Number.isInteger(whole)) {
    whole *= 2
    halvings += 1
  }
  return (BigInt(whole) * 5n ** BigInt(halvings) * 10n ** BigInt(scale)) / 10n ** BigInt(halvings)
}

function textOf(units: bigint): string {
  const digits = units.toString().padStart(scale + 1, '0')
  return `${digits.slice(0, -scale)}.${digits.slice(-scale)}`.replace(/\.?0+$/, '')
}

t.test(`digits around the middle of two floats become the nearer one (seed ${seed})`, async (t) => {
  const wrong: string[] = []
  for (let round = 0; round < count; round += 1) {
    // Numbers from 2^-100 to 2^127, as their middles have up to 125 decimals.
    const bits = ((27 + random.below(226)) << 23) + random.below(2 ** 23)
    const [lower, upper] = [floatOf(bits), floatOf(bits + 1)]
    const middle = unitsOf((lower + upper) / 2)
    const step = random.pick([0n, 1n, 10n ** 40n, (unitsOf(upper) - unitsOf(lower)) >> BigInt(20 + random.below(30))])
    const units = middle + step * random.pick([1n, -1n])
    const even = bits % 2 === 0 ? lower : upper
    const expected = units === middle ? even : units < middle ? lower : upper
    const sign = random.pick(['', '-'])
    const text = `${sign}${textOf(units)}`
    const verdict = judge({ kind: 'number', text })
    const found = verdict.isAccepted ? Math.fround(Number(verdict.cell)) : undefined
    if (found !== (sign === '-' ? -expected : expected)) wrong.push(`${text} is ${found}`)
  }
  t.same(wrong, [])
})
