import t from 'tap'
import { retargetTables } from '../../src/sql/retarget-tables.ts'

const options = {
  database: 'ws',
  tables: new Set(['a', 'b']),
  replacements: new Map([['a', '`ws`.`staged`']]),
}

function retargeted(sql: string): string {
  return retargetTables(sql, options).sql
}

t.test('another table is read under the name of the one before', async (t) => {
  t.equal(retargeted('SELECT x FROM ws.a'), 'SELECT x FROM `ws`.`staged` AS `a`')
  t.equal(retargeted('SELECT a.x FROM ws.a GROUP BY a.x'), 'SELECT a.x FROM `ws`.`staged` AS `a` GROUP BY a.x')
  t.equal(retargeted('SELECT e.x FROM `ws`.`a` AS e'), 'SELECT e.x FROM `ws`.`staged` AS e')
  t.equal(
    retargeted(
      'WITH c AS (SELECT 1 FROM ws.a) SELECT * FROM ws.b AS b JOIN c ON b.x = c.x WHERE y IN (SELECT y FROM ws.a)',
    ),
    'WITH c AS (SELECT 1 FROM `ws`.`staged` AS `a`) SELECT * FROM ws.b AS b JOIN c ON b.x = c.x WHERE y IN (SELECT y FROM `ws`.`staged` AS `a`)',
  )
})

t.test('it counts how often each table is read', async (t) => {
  const { readCounts } = retargetTables('SELECT 1 FROM ws.a AS x JOIN ws.a AS y ON 1 JOIN ws.b ON 1', options)
  t.same(
    [...readCounts],
    [
      ['a', 2],
      ['b', 1],
    ],
  )
})

t.test('a table that is none of ours is refused', async (t) => {
  t.throws(() => retargeted('SELECT 1 FROM ws.c'), { code: 'SQL_INVALID' })
  t.throws(() => retargeted('SELECT 1 FROM system.parts'), { code: 'SQL_INVALID' })
})
