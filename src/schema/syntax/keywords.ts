// Words that the engine takes for the next part of a query, where an alias without AS could stand as well. Both lists are
// what the engine's own parser does with each of its keywords (test/schema/syntax/keywords.test.ts asks it).

const everywhere =
  `ALL ANTI ANY ARRAY AS ASOF BETWEEN CROSS ELSE EXCEPT FINAL FORMAT FROM FULL GLOBAL GROUP HAVING ILIKE
  INNER INTERSECT INTO JOIN LEFT LIKE LIMIT NATURAL NOT OFFSET ON ONLY ORDER PARALLEL PASTE PREWHERE QUALIFY RIGHT SAMPLE
  SEMI SETTINGS STREAM UNION USING WHERE WINDOW WITH`.split(/\s+/)

/** No alias of an expression without AS. */
export const notExpressionAliases: ReadonlySet<string> = new Set([
  ...everywhere,
  ...['AND', 'DIV', 'IN', 'MOD', 'OR', 'REGEXP'],
])

/**
 * No alias of a table without AS: UUID would read another table than the one that is named, and behind `FROM t` the engine
 * takes SELECT for an alias only when it is no SELECT.
 */
export const notTableAliases: ReadonlySet<string> = new Set([...everywhere, 'SELECT', 'UUID'])

/** What the engine takes for an interval behind a number, in singular and plural. */
export const intervalUnits: ReadonlySet<string> = new Set(
  `NANOSECOND MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR NANOSECONDS MICROSECONDS
  MILLISECONDS SECONDS MINUTES HOURS DAYS WEEKS MONTHS QUARTERS YEARS NS MCS MS SS S MI M N HH H DD D WK WW W MM QQ Q YYYY
  YY SQL_TSI_NANOSECOND SQL_TSI_MICROSECOND SQL_TSI_MILLISECOND SQL_TSI_SECOND SQL_TSI_MINUTE SQL_TSI_HOUR SQL_TSI_DAY
  SQL_TSI_WEEK SQL_TSI_MONTH SQL_TSI_QUARTER SQL_TSI_YEAR`.split(/\s+/),
)
