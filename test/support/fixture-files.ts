import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BuiltFixture, csvFixtures } from './csv-fixtures.ts'
import type { Fixture } from './fixture.types.ts'
import { ndjsonFixtures } from './ndjson-fixtures.ts'
import { repositoryRoot } from './repository-root.ts'

/** A fixture as it stands on disk. */
export interface StoredFixture {
  readonly fixture: Fixture
  readonly body: Buffer
}

/** Makes every fixture anew out of the package vega-datasets, by readers that are not ours. */
export function buildFixtures(): readonly BuiltFixture[] {
  const folder = new URL('../data/', import.meta.resolve('vega-datasets'))
  const packageFile = (name: string) => readFileSync(new URL(name, folder), 'utf8')
  return [...csvFixtures(packageFile), ...ndjsonFixtures(packageFile)]
}

/** Writes input and expected result side by side under `fixtures`. */
export function writeFixtures(built: readonly BuiltFixture[]): void {
  for (const { fixture, inputText } of built) {
    writeFileSync(inputPath(fixture), inputText)
    writeFileSync(expectedPath(fixture), expectedText(fixture))
  }
}

export function readFixture({ fixture }: BuiltFixture): StoredFixture {
  const stored = JSON.parse(readFileSync(expectedPath(fixture), 'utf8')) as Fixture // Written by `writeFixtures`.
  return { fixture: stored, body: readFileSync(inputPath(stored)) }
}

function expectedText(fixture: Fixture): string {
  return `${JSON.stringify(fixture, null, 2)}\n`
}

function inputPath(fixture: Fixture): string {
  return join(repositoryRoot, 'fixtures', fixture.format, fixture.input)
}

function expectedPath(fixture: Fixture): string {
  return inputPath(fixture).replace(/\.(csv|ndjson)$/, '.json')
}
