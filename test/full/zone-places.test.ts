// Calls every function that may take a time zone with one that is a file, in every place: about 15,000 calls.

import t from 'tap'
import { isAllowedFunction } from '../../src/schema/functions/function-policy.ts'
import { zonePlaces } from '../../src/schema/time-zones/time-zones.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

const zone = "'file:/gone'"
const time = "toDateTime('2020-01-01 00:00:00', 'UTC')"
const text = "'2020-01-01 00:00:00'"
const day = 'INTERVAL 1 DAY'
/** Arguments of functions that take times, with a zone among them. */
const shapes: readonly (readonly string[])[] = [
  [zone],
  [time, zone],
  ['1', zone],
  [text, zone],
  ["toUUID('019c4c5e-0000-7000-8000-000000000000')", zone],
  ['toInt64(1)', zone],
  ["'01GNB2S2FGN2P93QPXDNB4EN2R'", zone],
  ['toUInt64(1)', '1', zone],
  [time, '1', zone],
  ['1', '1', zone],
  [text, '1', zone],
  [time, "'%Y'", zone],
  ['1', "'%Y'", zone],
  ["'2020'", "'%Y'", zone],
  ["'2020'", "'yyyy'", zone],
  ["'day'", time, zone],
  [time, day, zone],
  [day, time, zone],
  [text, zone, time],
  ["'day'", time, time, zone],
  [time, day, day, zone],
  [time, day, time, zone],
  [text, '3', zone, "toDateTime64('2020-01-01', 3)"],
  ['2020', '1', '1', '1', '1', '1', zone],
  ['2020', '1', '1', '1', '1', '1', '1', zone],
  ['2020', '1', '1', '1', '1', '1', '1', '3', zone],
]

t.test('every argument that the engine takes for a time zone is in the table', async (t) => {
  const described = await store.rows<{ readonly name: string }>(
    `SELECT name FROM system.functions WHERE NOT is_aggregate AND (match(categories, 'Date|ULID|UUID')
      OR match(concat(name, alias_to, syntax, parameters, arguments), '(?i)date|time|zone|now|year|quarter|month|week|day|hour|minute|second|tostring'))
      LIMIT 1 BY lower(name)`,
  )
  const found = new Map<string, Set<number>>()
  for (const { name } of described.filter(({ name }) => isAllowedFunction(name))) {
    for (const shape of shapes) {
      if (!(await opensZone(`${name}(${shape.join(', ')})`))) continue
      const places = found.get(name.toLowerCase()) ?? new Set()
      found.set(name.toLowerCase(), places.add(shape.indexOf(zone)))
    }
  }
  t.ok(found.size > 150)
  for (const [name, places] of found) t.same(zonePlaces.get(name), [...places].sort(), name)
  t.same(
    [...zonePlaces.keys()].filter((name) => !found.has(name)).sort(),
    // The text is read as a time before the zone is looked at.
    ['from_utc_timestamp', 'fromutctimestamp', 'to_utc_timestamp', 'toutctimestamp'],
  )
})

async function opensZone(call: string): Promise<boolean> {
  try {
    await store.rows(`SELECT ${call}`)
    return false
  } catch (thrown) {
    return /Cannot load time zone file:.gone/.test(String(thrown))
  }
}
