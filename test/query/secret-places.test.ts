import t from 'tap'
import { checkSecretPlaces } from '../../src/query/secret-places.ts'

/** Every `'secret'` of the text stands for a secret. */
function isRefused(text: string): boolean {
  const secrets = Array.from(text.matchAll(/'secret'/g), ({ index }) => ({ start: index, end: index + 8 }))
  try {
    checkSecretPlaces(text, secrets)
    return false
  } catch (error) {
    t.match(error, {
      code: 'SQL_INVALID',
      status: 400,
      message: /^The value of a secret would show in the result|^A secret cannot be an argument/,
    })
    return true
  }
}

t.test('a secret may choose rows', async (t) => {
  for (const text of [
    "SELECT a FROM t WHERE k = 'secret'",
    "SELECT a FROM t WHERE 'secret' = k AND at > now() - INTERVAL 1 DAY ORDER BY a",
    "SELECT a FROM t WHERE k = toUInt8('secret')",
    "SELECT a FROM t WHERE k = CAST('secret' AS UInt8)",
    "SELECT a FROM t PREWHERE has(['x', 'secret'], k) WHERE 1",
    "SELECT a FROM t WHERE k IN ('secret', 'other') GROUP BY a",
    "SELECT count() FILTER (WHERE k = 'secret') AS c FROM t",
    "SELECT countIf(k = 'secret') AS c, sum(n) AS total FROM t",
    "SELECT if(k = 'secret', 'open', 'shut') AS door FROM t",
    "SELECT k != 'secret' AS differs, k LIKE 'secret' AS isLike FROM t",
    "SELECT a, if(k = 'secret', 1, 0) + 1 AS n, b FROM t",
    "WITH k = 'secret' AS isOpen SELECT isOpen FROM t",
    "WITH c AS (SELECT count() AS n FROM t WHERE k = 'secret') SELECT n FROM c",
    "SELECT (SELECT count() FROM t WHERE k = 'secret')",
    "SELECT a IN (SELECT b FROM u WHERE k = 'secret') FROM t",
    "SELECT x FROM (SELECT a AS x FROM t WHERE lower(k) = lower('secret')) AS s",
    "SELECT (SELECT count() FROM t WHERE startsWith(k, 'secret')) AS c",
    "SELECT a FROM t JOIN u ON t.id = u.id AND match(u.k, 'secret')",
    "SELECT a, sum(n) AS total FROM t GROUP BY a HAVING has(groupArray(k), 'secret')",
    "SELECT a FROM t WHERE (SELECT max(k) AS m FROM u) IN ('secret')",
    "SELECT a FROM t WHERE empty('x' || 'secret') UNION ALL SELECT b AS a FROM u",
  ]) {
    t.notOk(isRefused(text), text)
  }
  t.doesNotThrow(() => checkSecretPlaces("SELECT '", [{ start: 7, end: 8 }]), 'what is no SQL does not run')
  t.doesNotThrow(() => checkSecretPlaces('SELECT 1', []))
})

t.test('a secret may not become a row', async (t) => {
  for (const text of [
    "SELECT 'secret'",
    "SELECT 'secret' AS x FROM t WHERE k = 'secret'",
    "SELECT concat('a', 'secret') FROM t",
    "SELECT length('secret')",
    "SELECT if(1 = 1, 'secret', '')",
    "SELECT x FROM (SELECT 'secret' AS x)",
    "WITH 'secret' AS s SELECT s",
    "WITH c AS (SELECT 'secret' AS x) SELECT x FROM c",
    "SELECT s FROM t ARRAY JOIN ['secret'] AS s",
    "SELECT * FROM values('x String', 'secret')",
    "SELECT s FROM t WHERE ('secret' AS s) != ''",
    "SELECT s FROM t WHERE notEmpty('secret' AS s)",
    "SELECT s FROM t WHERE notEmpty(concat('secret', 'x') AS s)",
    "SELECT s FROM t WHERE tuple('secret') AS s = tuple('a')",
    "SELECT s FROM t WHERE notEmpty(CAST(concat('secret') AS String) AS s)",
    "SELECT a FROM t ORDER BY a LIMIT toUInt8('secret')",
    "SELECT a FROM t GROUP BY a, concat('secret')",
    "SELECT a FROM t UNION ALL SELECT 'secret'",
    "SELECT trim(BOTH 'a' FROM 'secret')",
    "SELECT CASE WHEN k = 'secret' THEN 'secret' END FROM t",
    "SELECT k = 'x' ? 'secret' : ''",
    "SELECT t.where, 'secret' FROM t",
    "SELECT k = 'secret' FROM t",
    "SELECT k = 'secret', a AS b FROM t",
    "SELECT if(k = 'secret', 1, 0) FROM t",
    "SELECT * FROM (SELECT if(k = 'secret', 1, 0) FROM t)",
    "SELECT count() FILTER (WHERE k = 'secret') FROM t",
    "SELECT count() FILTER (WHERE k = 'secret'), a AS b FROM t",
    "SELECT if((k = 'secret') AS isOpen, 1, 0) FROM t",
  ]) {
    t.ok(isRefused(text), text)
  }
  t.throws(() => checkSecretPlaces('SELECT 1 -- x', [{ start: 12, end: 13 }]), { code: 'SQL_INVALID' }, 'no token')
})
