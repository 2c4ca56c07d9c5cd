// How long a JWT takes from text to verdict: a new one, whose signature is verified, and one that was verified before.
//
//   npm run build && node dist/benchmarks/jwt.js

import type { JwtScope } from '../src/access/jwt/jwt-claims.ts'
import { JwtSigner } from '../src/access/jwt/jwt-signer.ts'
import { JwtVerifier } from '../src/access/jwt/jwt-verifier.ts'
import { readOptions } from './support/bench.ts'
import { report } from './support/report.ts'
import { percentilesOf } from './support/statistics.ts'

const options = readOptions({ tokens: 4_000 })
const adminToken = `p.${'eyJ1IjoiN2M5ZTY2NzkifQ'.repeat(3)}.${'k'.repeat(43)}`
const workspace = { workspaceId: '7c9e6679-7425-40de-944b-e07fc1f90ae7', now: Date.now }
const pipe: JwtScope = {
  type: 'PIPES:READ',
  resource: 'top_pages',
  filter: null,
  fixedParameters: new Map([['site_uuid', '7c9e6679-7425-40de-944b-e07fc1f90ae7']]),
}
const rowsOf: JwtScope = {
  type: 'DATASOURCES:READ',
  resource: 'events',
  filter: "tenant = 'acme'",
  fixedParameters: null,
}

const rows = [
  ...measure('one scope', [pipe]),
  ...measure('two scopes, filter', [pipe, rowsOf]),
  ...measure(
    '20 scopes',
    Array.from({ length: 20 }, () => pipe),
  ),
]
report({ header: ['token', 'bytes', 'p50 µs', 'p99 µs'], rows }, options.out, rows)

function measure(name: string, scopes: readonly JwtScope[]): readonly (readonly string[])[] {
  const signer = new JwtSigner(workspace)
  signer.setKey(adminToken)
  const expiresAtSeconds = Math.floor(Date.now() / 1_000) + 3_600
  const tokens = Array.from({ length: options.tokens }, (_, index) => {
    const signed = signer.sign({ name: `tenant ${index}`, expiresAtSeconds, scopes, perSecondMax: 100 })
    if (signed.kind === 'refused') throw new Error(signed.reason)
    return signed.token
  })
  const cache = { entriesMax: options.tokens, weightMax: Number.MAX_SAFE_INTEGER }
  const verifier = new JwtVerifier({ ...workspace, cache })
  verifier.setKey(adminToken)
  const bytes = String(tokens[0]?.length)
  return ['new', 'cached'].map((kind) => {
    const times = tokens.map((token) => timeOf(verifier, token))
    // The first ones are those of the compiler of JavaScript.
    const { p50, p99 } = percentilesOf(times.slice(times.length / 4))
    return [`${name}, ${kind}`, bytes, p50.toFixed(1), p99.toFixed(1)]
  })
}

/** In microseconds. The text is a new one, as each request's is. */
function timeOf(verifier: JwtVerifier, token: string): number {
  const text = Buffer.from(token).toString('latin1')
  const start = performance.now()
  const verdict = verifier.verify(text)
  const time = (performance.now() - start) * 1_000
  if (verdict.kind !== 'accepted') throw new Error(verdict.reason)
  return time
}
