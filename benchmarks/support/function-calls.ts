// Arguments by which functions are called: small ones to learn what a function takes, large ones to see how long it takes.

interface Kind {
  readonly small: string
  readonly large: string
  /** In place of `large` where the kind stands a second time. */
  readonly other: string
}

const star = (distance: string) =>
  `arrayMap(i -> (cos(i * 0.0002) * (1 + 0.2 * (i % 2)) + ${distance}, sin(i * 0.0002) * (1 + 0.2 * (i % 2))), range(31416))`
const text = "repeat('abcdefghij', 6000)"
const integers = 'range(100000)'

const longTexts = `(SELECT materialize('${'a'.repeat(200_000)}') AS s)`

/** Arrays of 100,000 integers, texts of 60 kB, rings of 31,416 points. */
const kinds: Readonly<Record<string, Kind>> = {
  integers: { small: 'range(3)', large: integers, other: `arrayReverse(${integers})` },
  text: { small: "'ab'", large: text, other: "reverse(repeat('abcxefghij', 6000))" },
  count: { small: '3', large: '100000', other: '99999' },
  fraction: { small: '0.5', large: '0.999999', other: '1e9' },
  texts: {
    small: "['a', 'b']",
    large: 'arrayMap(i -> toString(i), range(30000))',
    other: 'arrayMap(i -> toString(i * 3), range(30000))',
  },
  prime: { small: '17', large: '18446744073709551557', other: '18446744073709551533' },
  wide: { small: 'toUInt256(17)', large: 'toUInt256(2) ^ 61 - 1', other: 'toUInt256(7)' },
  time: { small: "toDateTime('2026-01-01 00:00:00')", large: "toDateTime('2026-01-01 00:00:00')", other: 'now()' },
  point: { small: '(1., 2.)', large: '(1., 2.)', other: '(1.5, 2.5)' },
  ring: { small: '[(0., 0.), (1., 0.), (0., 1.)]', large: star('0'), other: star('0.3') },
  polygon: { small: '[[(0., 0.), (1., 0.), (0., 1.)]]', large: `[${star('0')}]`, other: `[${star('0.3')}]` },
  map: {
    small: 'map(1, 2)',
    large: `mapFromArrays(${integers}, ${integers})`,
    other: `mapFromArrays(${integers}, arrayReverse(${integers}))`,
  },
  bitmap: { small: 'bitmapBuild([1, 2])', large: `bitmapBuild(${integers})`, other: 'bitmapBuild(range(7, 99999))' },
  cell: { small: 'geoToH3(37.8, 55.7, 3)', large: 'geoToH3(37.8, 55.7, 3)', other: 'geoToH3(37.9, 45.7, 3)' },
  lambda: { small: '(x -> x)', large: '(x -> x + 1)', other: '(x -> x)' },
}
export const kindNames: readonly string[] = Object.keys(kinds)

/** `(name(a, b))` with small or large values of the kinds. */
export function callText(name: string, signature: readonly string[], size: 'small' | 'large'): string {
  const seen = new Set<string>()
  const values = signature.map((kindName) => {
    const kind = kinds[kindName]
    if (kind === undefined) throw new Error(`no kind ${kindName}`)
    const isRepeated = seen.has(kindName)
    seen.add(kindName)
    if (size === 'small') return kind.small
    return isRepeated ? kind.other : kind.large
  })
  return `${name}(${values.join(', ')})`
}

/** Columns out of which aggregate functions are called over three million rows. */
export const aggregateColumns: readonly string[] = [
  'number',
  'toFloat64(number % 1000003)',
  'toString(number % 100003)',
  'toDateTime(number)',
  'number % 2',
  '[number, number + 1]',
]

/** Calls that no combination of the kinds makes: with texts, lambdas and parameters of their own, and whole blocks of rows. */
export const furtherCalls: readonly { readonly name: string; readonly sql: string }[] = [
  ...alone({
    arrayFold: 'arrayFold((a, i) -> arrayPushBack(a, i), range(100000), emptyArrayUInt64())',
    arrayLevenshteinDistanceWeighted: `arrayLevenshteinDistanceWeighted(${integers}, arrayReverse(${integers}), arrayMap(i -> 1., ${integers}), arrayMap(i -> 1., ${integers}))`,
    arraySimilarity: `arraySimilarity(${integers}, arrayReverse(${integers}), arrayMap(i -> 1., ${integers}), arrayMap(i -> 1., ${integers}))`,
    arrayReduce: `arrayReduce('groupArrayMovingSum', ${integers})`,
    arrayReduceInRanges: `arrayReduceInRanges('uniqExact', arrayMap(i -> (1, 100000), range(1000)), ${integers})`,
    arrayShingles: `arrayShingles(range(20000), 10000)`,
    arrayMap: `arrayMap(i -> arraySum(range(10000)) + i, range(100000))`,
    arraySort: `arraySort(i -> cityHash64(i), range(3000000))`,
    arrayExists: `arrayExists(i -> has(range(100000), i + 100000), range(20000))`,
    match: "match(repeat('a', 60000), '(a?){900}a{900}')",
    like: "repeat('ab', 30000) LIKE concat(repeat('%a%b', 2000), 'c')",
    replaceRegexpAll: "replaceRegexpAll(repeat('a', 60000), '(a?){300}b', 'x')",
    extractAllGroupsVertical: "extractAllGroupsVertical(repeat('a', 60000), '(a*)(b|c)')",
    countMatches: "countMatches(repeat('a', 60000), 'a*b')",
    multiMatchAny: "multiMatchAny(repeat('a', 60000), ['(a?){200}a{200}b', 'a.*b.*c.*d'])",
    multiFuzzyMatchAny: "multiFuzzyMatchAny(repeat('a', 60000), 5, ['abcdefghijklmnop', 'bcdefghijklmnopq'])",
    hasSubsequence: `hasSubsequence(repeat('a', 60000), repeat('a', 60000))`,
    position: "position(repeat('a', 1000000), concat(repeat('a', 100000), 'b'))",
    countSubstrings: "countSubstrings(repeat('a', 1000000), concat(repeat('a', 300), 'b'))",
    positionCaseInsensitive: "positionCaseInsensitive(repeat('a', 1000000), concat(repeat('a', 100000), 'b'))",
    positionUTF8: "positionUTF8(repeat('é', 300000), concat(repeat('é', 50000), 'b'))",
    replaceAll: "replaceAll(repeat('a', 1000000), concat(repeat('a', 100000), 'b'), 'x')",
    splitByString: "splitByString(concat(repeat('a', 20000), 'b'), repeat('a', 1000000))",
    formatQuery: "formatQuery(concat('SELECT ', repeat('(', 200), '1', repeat(')', 200)))",
    normalizeQuery: "normalizeQuery(repeat('a,', 100000))",
    obfuscateQuery: "obfuscateQuery(repeat('abc ', 20000))",
    JSONExtractRaw: "JSONExtractRaw(concat(repeat('[', 50000), repeat(']', 50000)))",
    JSON_QUERY: "JSON_QUERY(concat('{\"a\":', repeat('[', 900), repeat(']', 900), '}'), '$.a[*][*][*]')",
    geohashesInBox: 'geohashesInBox(-180., -90., 180., 90., 5)',
    h3kRing: 'h3kRing(geoToH3(37.8, 55.7, 15), 700)',
    h3ToChildren: 'length(h3ToChildren(h3GetBaseCell(1), 9))',
    h3Line: 'h3Line(geoToH3(0., 0., 15), geoToH3(1., 1., 15))',
    h3PolygonToCells: 'length(h3PolygonToCells([(-10., -10.), (10., -10.), (10., 10.), (-10., 10.)], 9))',
    pointInPolygon: `arraySum(arrayMap(i -> pointInPolygon((i / 100000, 0.5), ${star('0')}), range(1000)))`,
    mapPopulateSeries: 'mapPopulateSeries(map(1, 1), 50000000)',
    randBinomial: 'randBinomial(1000000000, 0.5)',
    randNegativeBinomial: 'randNegativeBinomial(1000000000, 0.000001)',
    randPoisson: 'randPoisson(1e15)',
    financialInternalRateOfReturn: `financialInternalRateOfReturn(arrayMap(i -> toFloat64(if(i % 2, -i, i)), ${integers}))`,
    naturalSortKey: `naturalSortKey(repeat('1a', 500000))`,
    arrayTranspose: 'arrayTranspose(arrayMap(i -> range(1000), range(1000)))',
    arrayFlatten: 'arrayFlatten(arrayMap(i -> range(1000), range(10000)))',
    arrayZip: `length(arrayZip(${Array.from({ length: 20 }, () => 'range(300000)').join(', ')}))`,
    arrayPartialShuffle: 'arrayPartialShuffle(range(3000000), 3000000)',
    multiSearchAllPositions:
      "multiSearchAllPositions(repeat('a', 100000), arrayMap(i -> concat(repeat('a', 100), toString(i)), range(200)))",
    translate: "translate(repeat('a', 1000000), repeat('a', 200), repeat('b', 200))",
    generateRandomStructure: 'generateRandomStructure(100000)',
    arrayElement: `arraySum(arrayMap(i -> mapFromArrays(${integers}, ${integers})[i], ${integers}))`,
    mapContains: `arrayCount(i -> mapContains(mapFromArrays(${integers}, ${integers}), i + 100000), ${integers})`,
    tupleElement: `arraySum(arrayMap(i -> arrayElement(mapFromArrays(${integers}, ${integers}), i), ${integers}))`,
    arrayIntersect: 'length(arrayIntersect(range(10000000), range(5, 10000005)))',
    arrayUnion: 'length(arrayUnion(range(10000000), range(5, 10000005)))',
    arrayExcept: 'length(arrayExcept(range(10000000), range(5, 10000005)))',
    arraySymmetricDifference: 'length(arraySymmetricDifference(range(10000000), range(5, 10000005)))',
    arrayDistinct: 'length(arrayDistinct(range(30000000)))',
    arrayUniq: 'arrayUniq(range(30000000))',
    arrayEnumerateUniq: 'length(arrayEnumerateUniq(range(30000000)))',
    arrayReverseSort: 'length(arrayReverseSort(i -> cityHash64(i), range(30000000)))',
    arrayCompact: 'length(arrayCompact(range(100000000)))',
    'arraySort, within a lambda': `arraySum(i -> length(arraySort(j -> cityHash64(j, i), ${integers})), range(300))`,
    'cityHash64, within a lambda': `arraySum(i -> arraySum(j -> cityHash64(j, i), ${integers}), range(300))`,
    'a hundred sorts': Array.from(
      { length: 100 },
      (_, i) => `length(arraySort(i -> cityHash64(i), range(${1_000_000 + i})))`,
    ).join(' + '),
  }),
  // A long value as a table may have it, which no function of the query makes.
  ...stored({
    extractAll: "sum(length(extractAll(s, 'a*b|a')))",
    replaceRegexpAll: "sum(length(replaceRegexpAll(s, 'a+b', 'x')))",
    countMatches: "sum(countMatches(s, 'a*b'))",
    splitByRegexp: "sum(length(splitByRegexp('a*b', s)))",
    match: "sum(match(s, '(a?){300}b'))",
    extractAllGroups: "sum(length(extractAllGroups(s, '(a*)(b|c)')))",
    like: "sum(s LIKE '%a%b%c%a%a%b')",
  }),
  ...whole({
    sequenceMatch:
      "sequenceMatch('(?1).*(?2).*(?1).*(?2).*(?1).*(?3)')(toDateTime(number), number % 2 = 0, number % 2 = 1, number < 0) FROM numbers(300000)",
    sequenceCount: "sequenceCount('(?1).*(?2)')(toDateTime(number), number % 2 = 0, number < 0) FROM numbers(300000)",
    sequenceNextNode:
      "sequenceNextNode('forward', 'first_match')(toDateTime(number), toString(number), number < 9, number % 2 = 0, number % 3 = 0) FROM numbers(300000)",
    windowFunnel:
      "windowFunnel(1000000000, 'strict_order')(toDateTime(number), number % 3 = 0, number % 3 = 1, number % 3 = 2, number < 0) FROM numbers(1000000)",
    groupArrayMovingSum: 'length(groupArrayMovingSum(100000)(number)) FROM numbers(200000)',
    groupArrayIntersect: 'length(groupArrayIntersect(range(10000))) FROM numbers(10000)',
    largestTriangleThreeBuckets:
      'length(largestTriangleThreeBuckets(100000)(number, sin(number))) FROM numbers(1000000)',
    theilsU: 'theilsU(number % 100003, number % 99991) FROM numbers(3000000)',
    mannWhitneyUTest: "mannWhitneyUTest('two-sided')(number, number % 2) FROM numbers(3000000)",
    kolmogorovSmirnovTest:
      "kolmogorovSmirnovTest('two-sided', 'exact')(cityHash64(number) % 100003, number % 2) FROM numbers(20000)",
    'kolmogorovSmirnovTest, more rows':
      "kolmogorovSmirnovTest('two-sided', 'exact')(cityHash64(number) % 100003, number % 2) FROM numbers(200000)",
    histogram: 'length(histogram(10000)(number)) FROM numbers(300000)',
    sparkbar: 'sparkbar(100000)(number, number) FROM numbers(1000000)',
    topK: 'length(topK(60000)(number)) FROM numbers(1000000)',
    uniqUpTo: 'uniqUpTo(100)(number) FROM numbers(1000000)',
    maxIntersections: 'maxIntersections(number, number + 5) FROM numbers(3000000)',
    quantilesExact: 'quantilesExact(0.1, 0.5, 0.9)(cityHash64(number)) FROM numbers(10000000)',
    quantileGK: 'quantileGK(100000, 0.5)(cityHash64(number)) FROM numbers(1000000)',
    timeSeriesResampleToGridWithStaleness:
      'length(timeSeriesResampleToGridWithStaleness(0, 100000000, 1, 100000000)(toDateTime(number), toFloat64(number))) FROM numbers(1000) SETTINGS allow_experimental_time_series_aggregate_functions = 1',
    corrMatrix: `length(corrMatrix(${Array.from({ length: 60 }, (_, i) => `number % ${i + 2}`).join(', ')})) FROM numbers(100000)`,
    sumMapFilteredForEach: 'length(sumForEach(range(number % 10000))) FROM numbers(65000)',
    sumResample: 'length(sumResample(0, 1000000, 1)(number, number)) FROM numbers(65000)',
    groupConcat: "length(groupConcat(',')(repeat('a', 100))) FROM numbers(3000000)",
    'editDistance, a block of rows':
      "max(editDistance(repeat(toString(number), 100), repeat('abcde', 100))) FROM numbers(65000)",
    'has, a block of rows': 'sum(has(range(100000), number + 100000)) FROM numbers(65000)',
    'position, a block of rows': "sum(position(repeat('ab', 100000), toString(number))) FROM numbers(65000)",
    'arraySort, a block of rows': 'sum(length(arraySort(i -> -i, range(1000 + number % 2)))) FROM numbers(65000)',
    'cityHash64, a block of rows': "sum(cityHash64(repeat('ab', 100000), number)) FROM numbers(65000)",
  }),
]

function stored(calls: Readonly<Record<string, string>>): readonly { readonly name: string; readonly sql: string }[] {
  return Object.entries(calls).map(([name, call]) => ({
    name: `${name}, a long text that is stored`,
    sql: `SELECT ${call} FROM ${longTexts}`,
  }))
}

function alone(calls: Readonly<Record<string, string>>): readonly { readonly name: string; readonly sql: string }[] {
  return Object.entries(calls).map(([name, call]) => ({ name, sql: `SELECT ${call} FORMAT Null` }))
}

function whole(calls: Readonly<Record<string, string>>): readonly { readonly name: string; readonly sql: string }[] {
  return Object.entries(calls).map(([name, select]) => ({ name, sql: `SELECT ${select}` }))
}
