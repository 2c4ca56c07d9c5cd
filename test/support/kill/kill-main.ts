// `npm run test:kill -- --kills 1000 --producers 4 --seed 7 --barriers 50`: prints what was killed, stored and mended, then
// what became of data sources that were dropped under load and kills, and what was seen of replaces (`--replaces 50 --readers 8
// --replace-kills 20`). Exit code 1 when a row is lost or doubled, or something was seen that must not be.

import process from 'node:process'
import { parseArgs } from 'node:util'
import { runBarriers } from './barrier-run.ts'
import { runKills } from './kill-run.ts'
import { runReplaces } from './replace-run.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    producers: { type: 'string', default: '4' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'life-ms': { type: 'string', default: '700' },
    barriers: { type: 'string', default: '10' },
    replaces: { type: 'string', default: '15' },
    readers: { type: 'string', default: '4' },
    'replace-kills': { type: 'string', default: '5' },
  },
})
const options = {
  kills: Number(values.kills),
  producers: Number(values.producers),
  seed: Number(values.seed),
  lifeMsMax: Number(values['life-ms']),
}
process.stdout.write(`${JSON.stringify(options)}\n`)
const { kills, acknowledged, words, stored, durationMs } = await runKills(options)
const { rows, quarantined, requests, failedTries } = acknowledged
process.stdout.write(`${kills} kills in ${Math.round(durationMs / 1000)} s\n`)
process.stdout.write(
  `acknowledged: ${rows} rows, ${quarantined} quarantined, ${requests} requests, ${failedTries} tries failed\n`,
)
process.stdout.write(
  `at the starts: ${words.entriesRead} entries read, ${words.repairs} orphan records dropped; the engine ended ${words.engineEnds} times alone\n`,
)
for (const line of words.errors.slice(0, 5)) process.stdout.write(`said: ${line}\n`)
let isRight = true
for (const { place, expected, rows: found, distinct } of stored) {
  const isExact = found === expected && distinct === expected
  isRight &&= isExact
  const lost = expected - distinct
  process.stdout.write(
    `${isExact ? 'right' : 'WRONG'}  ${place}: ${found} rows, ${distinct} distinct, ${expected} expected, ${lost} lost, ${found - distinct} doubled\n`,
  )
}
const barriers = { rounds: Number(values.barriers), producers: options.producers, seed: options.seed, loadMsMax: 400 }
const { checks, words: saidThen, ...report } = await runBarriers(barriers)
process.stdout.write(`${barriers.rounds} drops under load: ${JSON.stringify(report)}\n`)
for (const line of saidThen.errors.slice(0, 5)) process.stdout.write(`said: ${line}\n`)
isRight &&= report.tablesLeft === 0
for (const { what, expected, stored: found } of checks) {
  const isExact = JSON.stringify(found) === JSON.stringify(expected)
  isRight &&= isExact
  if (!isExact) process.stdout.write(`WRONG  ${what}: ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}\n`)
}
const replaces = {
  readers: Number(values.readers),
  replaces: Number(values.replaces),
  kills: Number(values['replace-kills']),
  seed: options.seed,
}
const { wrong, stagingLeft, words: saidLast, ...seen } = await runReplaces(replaces)
process.stdout.write(`${replaces.replaces} replaces under reading, ${replaces.kills} killed: ${JSON.stringify(seen)}\n`)
for (const line of saidLast.errors.slice(0, 5)) process.stdout.write(`said: ${line}\n`)
for (const line of [...wrong.slice(0, 20), ...stagingLeft]) process.stdout.write(`WRONG  ${line}\n`)
isRight &&= wrong.length + stagingLeft.length === 0
process.exit(isRight ? 0 : 1)
