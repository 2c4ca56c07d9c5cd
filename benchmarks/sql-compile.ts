// How long a user's query takes from text to what the store runs: cold, where nothing of its text is known, and warm, where
// the texts of a request before are still known as parsed.
//
//   npm run build && node dist/benchmarks/sql-compile.js

import { compileQuery } from '../src/sql/compile-query.ts'
import { shapeOf } from '../src/sql/query-shape.ts'
import type { NameScope, Source } from '../src/sql/source.types.ts'
import { readOptions } from './support/bench.ts'
import { report } from './support/report.ts'
import { percentilesOf } from './support/statistics.ts'

const nodes: Readonly<Record<string, string>> = {
  hits: `SELECT toDate(timestamp) AS date, session_id, action, JSONExtractString(payload, 'pathname') AS path,
  JSONExtractString(payload, 'referrer') AS referrer, lower(JSONExtractString(payload, 'locale')) AS locale
FROM events WHERE action = 'page_hit' AND timestamp >= now() - INTERVAL 30 DAY`,
  sessions: `SELECT date, session_id, anyIf(referrer, referrer != '') AS source, count() AS hits,
  min(timestamp) AS first_hit, max(timestamp) AS latest_hit FROM hits GROUP BY date, session_id`,
}
const queries: Readonly<Record<string, string>> = {
  small: 'SELECT count() FROM events WHERE user_id = 42',
  typical: `WITH toDate('2024-01-01') AS start, top AS (SELECT path, uniq(session_id) AS visits FROM hits GROUP BY path)
SELECT h.path, h.locale, count() AS c, round(avg(t.visits), 2) AS visits, quantile(0.9)(length(h.referrer)) AS q
FROM hits AS h LEFT JOIN top AS t ON h.path = t.path
WHERE h.date >= start AND h.path IN (SELECT path FROM top ORDER BY visits DESC LIMIT 100)
GROUP BY h.path, h.locale HAVING c > 10 ORDER BY c DESC, h.path LIMIT 50 FORMAT JSON`,
  filtered: `SELECT s.source, sum(s.hits) AS hits, uniq(s.session_id) AS visits FROM sessions AS s
JOIN customers AS c ON c.id = s.session_id WHERE s.date > today() - 7 GROUP BY s.source ORDER BY visits DESC LIMIT 10`,
}
const columns = ['timestamp', 'session_id', 'action', 'payload', 'id', 'tenant']

const scope: NameScope = {
  find([name = '', ...more]): Source | undefined {
    if (more.length > 0) return undefined
    const sql = nodes[name]
    if (sql !== undefined) return { kind: 'query', id: name, name, sql: () => withMark(sql), scope }
    const filter = name === 'customers' ? "tenant = 'acme' AND id != 'x'" : null
    return { kind: 'table', database: 'ws_0001', table: `t_${name}`, name, columns, isJoin: false, filter }
  },
}

let mark = ''
/** A text that is not known yet, when there is a mark. */
function withMark(sql: string): string {
  return `${sql}${mark}`
}

const options = readOptions({ rounds: 4_000 })

const rows = Object.entries(queries).flatMap(([name, sql]) => {
  const cold = measure(`${name}, cold`, (round) => {
    mark = ` -- ${round}`
    compileQuery(`${sql.replace(' FORMAT JSON', '')}${mark}`, { scope })
  })
  mark = ''
  const warm = measure(`${name}, warm`, () => compileQuery(sql, { scope }))
  const compiled = compileQuery(sql, { scope })
  return [cold, warm, measure(`${name}, shape`, () => shapeOf(compiled.sql))]
})
report({ header: ['query', 'p50 µs', 'p99 µs'], rows }, options.out, rows)

function measure(name: string, once: (round: number) => void): readonly string[] {
  const times: number[] = []
  for (let round = 0; round < options.rounds; round += 1) {
    const start = performance.now()
    once(round)
    times.push((performance.now() - start) * 1_000)
  }
  // The first rounds are those of the compiler of JavaScript.
  const { p50, p99 } = percentilesOf(times.slice(options.rounds / 4))
  return [name, p50.toFixed(1), p99.toFixed(1)]
}
