// `npm run test:kill -- --kills 1000 --producers 4 --seed 7 --barriers 50`: prints what was killed, stored and mended, then
// what became of data sources that were dropped under load and kills, and what was seen of replaces (`--replaces 50 --readers 8
// --replace-kills 20`), and of imports by URL (`--import-kills 50 --import-rows 5000000 --import-life-ms 3000`, of some kinds alone by
// `--import-kinds csv,parquet`), and of views that are parked (`--behind-kills 50`). A count of 0 leaves a part out. Exit code 1 when a row is lost or doubled, or something was seen that must not be.

import process from 'node:process'
import { parseArgs } from 'node:util'
import { runBarriers } from './barrier-run.ts'
import { runBehind } from './behind-run.ts'
import { runImportKills } from './import-run.ts'
import { runKills } from './kill-run.ts'
import type { ServiceWords } from './kill-service.ts'
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
    'import-kills': { type: 'string', default: '10' },
    'import-rows': { type: 'string', default: '300000' },
    'import-life-ms': { type: 'string', default: '1500' },
    'import-kinds': { type: 'string' },
    'behind-kills': { type: 'string', default: '10' },
  },
})
const options = {
  kills: Number(values.kills),
  producers: Number(values.producers),
  seed: Number(values.seed),
  lifeMsMax: Number(values['life-ms']),
}
process.stdout.write(`${JSON.stringify(options)}\n`)
let isRight = true
if (options.kills > 0) await killUnderLoad()
if (Number(values.barriers) > 0) await dropUnderLoad()
if (Number(values.replaces) > 0) await replaceUnderReading()
if (Number(values['import-kills']) > 0) await killImports()
if (Number(values['behind-kills']) > 0) await killBehind()
process.exit(isRight ? 0 : 1)

async function killBehind(): Promise<void> {
  const rounds = Number(values['behind-kills'])
  for (const hasImports of [false, true]) {
    const { faults, words, ...report } = await runBehind({ rounds, seed: options.seed, hasImports })
    say(`${rounds} kills beside a parked view, ${hasImports ? 'with' : 'without'} imports: ${JSON.stringify(report)}`)
    sayErrors(words)
    for (const fault of faults) judge(false, fault)
  }
}

async function killUnderLoad(): Promise<void> {
  const { kills, acknowledged, words, stored, durationMs } = await runKills(options)
  const { rows, quarantined, requests, failedTries } = acknowledged
  say(`${kills} kills in ${Math.round(durationMs / 1000)} s`)
  say(`acknowledged: ${rows} rows, ${quarantined} quarantined, ${requests} requests, ${failedTries} tries failed`)
  say(
    `at the starts: ${words.entriesRead} entries read, ${words.repairs} orphan records dropped; the engine ended ${words.engineEnds} times alone`,
  )
  sayErrors(words)
  for (const { place, expected, rows: found, distinct } of stored) {
    const isExact = found === expected && distinct === expected
    const lost = expected - distinct
    judge(
      isExact,
      `${place}: ${found} rows, ${distinct} distinct, ${expected} expected, ${lost} lost, ${found - distinct} doubled`,
    )
  }
}

async function dropUnderLoad(): Promise<void> {
  const { producers, seed } = options
  const rounds = Number(values.barriers)
  const { checks, words, ...report } = await runBarriers({ rounds, producers, seed, loadMsMax: 400 })
  say(`${rounds} drops under load: ${JSON.stringify(report)}`)
  sayErrors(words)
  isRight &&= report.tablesLeft === 0
  for (const { what, expected, stored: found } of checks) judgeAlike({ what, expected, found }, { saysRight: false })
}

async function replaceUnderReading(): Promise<void> {
  const replaces = Number(values.replaces)
  const kills = Number(values['replace-kills'])
  const { wrong, stagingLeft, words, ...seen } = await runReplaces({
    readers: Number(values.readers),
    replaces,
    kills,
    seed: options.seed,
  })
  say(`${replaces} replaces under reading, ${kills} killed: ${JSON.stringify(seen)}`)
  sayErrors(words)
  for (const line of [...wrong.slice(0, 20), ...stagingLeft]) judge(false, line)
}

async function killImports(): Promise<void> {
  const kinds = values['import-kinds']?.split(',')
  const { checks, words, ...report } = await runImportKills({
    kills: Number(values['import-kills']),
    rows: Number(values['import-rows']),
    lifeMsMax: Number(values['import-life-ms']),
    seed: options.seed,
    ...(kinds === undefined ? {} : { kinds }),
  })
  say(`imports by URL: ${JSON.stringify(report)}, ${words.repairs} orphan records dropped`)
  sayErrors(words)
  for (const check of checks) judgeAlike(check, { saysRight: true })
}

function judgeAlike(
  { what, expected, found }: { readonly what: string; readonly expected: unknown; readonly found: unknown },
  { saysRight }: { readonly saysRight: boolean },
): void {
  const isExact = JSON.stringify(found) === JSON.stringify(expected)
  if (isExact && !saysRight) return
  judge(isExact, `${what}: ${JSON.stringify(found)}${isExact ? '' : `, expected ${JSON.stringify(expected)}`}`)
}

function judge(isExact: boolean, line: string): void {
  isRight &&= isExact
  say(`${isExact ? 'right' : 'WRONG'}  ${line}`)
}

function sayErrors({ errors }: ServiceWords): void {
  for (const line of errors.slice(0, 5)) say(`said: ${line}`)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
