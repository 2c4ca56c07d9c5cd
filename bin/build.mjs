// Builds what ships, `src` and `workers`, when it is not built yet, and prints the folder that has it.
//
// Each state of the sources has a folder of its own, build/<hash>: a service goes on in the folder that it was started from
// while others are built, and its engine and workers can be started again from there. Types are not checked here;
// `npm run build` does.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const builds = join(root, 'build')
/** Builds that are kept; the latest started stay. */
const keptBuilds = 4

const target = join(builds, hashOf(sources()))
if (!existsSync(target)) await build()
const now = new Date()
utimesSync(target, now, now)
removeOld()
process.stdout.write(target)

function sources() {
  const folders = ['src', 'workers'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  return [...folders.sort(), ...['package.json', 'tsconfig.json', 'asconfig.json'].map((name) => join(root, name))]
}

function hashOf(paths) {
  const hash = createHash('sha256')
  for (const path of paths)
    hash
      .update(`${path.slice(root.length)}\0`)
      .update(readFileSync(path))
      .update('\0')
  return hash.digest('hex').slice(0, 16)
}

async function build() {
  process.stderr.write('Millrace is being built; this is done once.\n')
  const unfinished = `${target}.${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  const require = createRequire(import.meta.url)
  const tsc = [require.resolve('typescript/bin/tsc'), '-p', join(root, 'bin/tsconfig.json'), '--outDir', unfinished]
  const asc = [
    join(root, 'node_modules/assemblyscript/bin/asc.js'),
    '--outFile',
    join(unfinished, 'src/codec/kernel.wasm'),
  ]
  try {
    await Promise.all([run(tsc), run(asc)])
    renameSync(unfinished, target)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    // Another start has built the same meanwhile.
    if (!existsSync(target)) throw error
  }
}

function run(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] })
    child.on('error', reject)
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${args[0]} ended with ${code}`))))
  })
}

function removeOld() {
  const byAge = readdirSync(builds)
    .filter((name) => /^[0-9a-f]{16}$/.test(name))
    .sort((a, b) => statSync(join(builds, b)).mtimeMs - statSync(join(builds, a)).mtimeMs)
  for (const name of byAge.slice(keptBuilds)) rmSync(join(builds, name), { recursive: true, force: true })
}
