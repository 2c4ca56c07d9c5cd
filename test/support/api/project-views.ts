// Nodes as projects have them: what they fill, and what must be found there.

export interface ProjectView {
  /** Of the data source that it fills. */
  readonly name: string
  /** Its data source, or what another one of these fills. */
  readonly source: string
  /** Nodes of the pipe in front of it, by name. */
  readonly before?: Readonly<Record<string, string>>
  readonly sql: string
  /** Of the target where it is made of the query's types: `engine` and `engine_…`. */
  readonly engine?: Readonly<Record<string, string>>
  /** Of the target where it is there before. */
  readonly schema?: string
  /** Absent where the view reads what keeps no rows: populating the one in front of it fills it. */
  readonly isPopulated?: false
  /** True where others are made before it is populated, so that its rows pass them too. */
  readonly isPopulatedLate?: true
  /** Over the target. */
  readonly found: string
  /** Over the data sources that rows are sent to. */
  readonly expected: string
}

const funnelSteps = "action = 'view', action = 'cart', action = 'buy'"
const revenue = 'toUInt64(price * 100) * quantity'
const cleanedHits = `SELECT timestamp, session_id, JSONExtractString(payload, 'pathname') AS pathname,
  JSONExtractString(payload, 'referrer') AS referrer, coalesce(JSONExtractString(payload, 'location'), '') AS location,
  lower(JSONExtractString(payload, 'user-agent')) AS agent FROM raw_hits WHERE action = 'page_hit'`
const hitColumns = `timestamp, session_id, pathname, domainWithoutWWW(referrer) AS source, location,
  multiIf(match(agent, 'bot|crawler'), 'bot', match(agent, 'iphone|android'), 'mobile', 'desktop') AS device`
const parsedReading = `SELECT device, at, toInt32(splitByChar(';', line)[1]) AS celsius, toInt32(splitByChar(';', line)[2]) AS humidity,
  toFloat64(splitByChar(';', line)[3]) AS lat, toFloat64(splitByChar(';', line)[4]) AS lon, battery FROM readings`
const typedPayment = `SELECT toUInt32OrZero(code) AS code, parseDateTime64BestEffortOrNull(at, 3, 'UTC') AS at,
  toDecimal64OrZero(amount, 2) AS amount, CAST(kind, 'LowCardinality(String)') AS kind, toBool(ok = 'true') AS ok, ifNull(note, '') AS note FROM raw_payments`

/** In an order in which each one's source is made before it. */
export const projectViews: readonly ProjectView[] = [
  {
    name: 'events_by_hour',
    source: 'web_events',
    sql: 'SELECT tenant, toStartOfHour(ts) AS hour, country, countState() AS hits, uniqState(session) AS sessions, sumState(ms) AS ms FROM web_events GROUP BY tenant, hour, country',
    isPopulatedLate: true,
    found:
      'SELECT tenant, hour, country, countMerge(hits), uniqMerge(sessions), sumMerge(ms) FROM events_by_hour GROUP BY tenant, hour, country',
    expected:
      'SELECT tenant, toStartOfHour(ts) AS hour, country, count(), uniq(session), sum(ms) FROM web_events GROUP BY tenant, hour, country',
  },
  {
    name: 'events_by_day',
    source: 'events_by_hour',
    sql: 'SELECT tenant, toDate(hour) AS day, countMergeState(hits) AS hits, uniqMergeState(sessions) AS sessions, sumMergeState(ms) AS ms FROM events_by_hour GROUP BY tenant, day',
    isPopulated: false,
    found:
      'SELECT tenant, day, countMerge(hits), uniqMerge(sessions), sumMerge(ms) FROM events_by_day GROUP BY tenant, day',
    expected: 'SELECT tenant, toDate(ts) AS day, count(), uniq(session), sum(ms) FROM web_events GROUP BY tenant, day',
  },
  {
    name: 'events_by_month',
    source: 'events_by_day',
    sql: 'SELECT tenant, toStartOfMonth(day) AS month, countMergeState(hits) AS hits, uniqMergeState(sessions) AS sessions FROM events_by_day GROUP BY tenant, month',
    isPopulated: false,
    found: 'SELECT tenant, month, countMerge(hits), uniqMerge(sessions) FROM events_by_month GROUP BY tenant, month',
    expected:
      'SELECT tenant, toStartOfMonth(toDate(ts)) AS month, count(), uniq(session) FROM web_events GROUP BY tenant, month',
  },
  {
    name: 'sessions',
    source: 'web_events',
    sql: "SELECT session, toDate(ts) AS day, minSimpleState(ts) AS first, maxSimpleState(ts) AS last, countState() AS hits, argMinState(path, ts) AS entry, argMaxState(path, ts) AS exit, anySimpleState(ifNull(device, 'none')) AS device FROM web_events GROUP BY session, day",
    found:
      "SELECT session, day, min(first), max(last), dateDiff('second', min(first), max(last)), countMerge(hits), argMinMerge(entry), argMaxMerge(exit) FROM sessions GROUP BY session, day",
    expected:
      "SELECT session, toDate(ts) AS day, min(ts), max(ts), dateDiff('second', min(ts), max(ts)), count(), argMin(path, ts), argMax(path, ts) FROM web_events GROUP BY session, day",
  },
  {
    name: 'funnel',
    source: 'web_events',
    sql: `SELECT tenant, user_id, windowFunnelState(86400)(toDateTime(ts), ${funnelSteps}) AS steps FROM web_events GROUP BY tenant, user_id`,
    found:
      'SELECT step, count() FROM (SELECT tenant, user_id, windowFunnelMerge(86400)(steps) AS step FROM funnel GROUP BY tenant, user_id) GROUP BY step',
    expected: `SELECT step, count() FROM (SELECT tenant, user_id, windowFunnel(86400)(toDateTime(ts), ${funnelSteps}) AS step FROM web_events GROUP BY tenant, user_id) GROUP BY step`,
  },
  {
    name: 'retained',
    source: 'web_events',
    sql: "SELECT user_id, retentionState(toDate(ts) = '2026-01-30', toDate(ts) = '2026-01-31', toDate(ts) = '2026-02-01') AS days FROM web_events GROUP BY user_id",
    found:
      'SELECT sum(r[1]), sum(r[2]), sum(r[3]) FROM (SELECT retentionMerge(days) AS r FROM retained GROUP BY user_id)',
    expected:
      "SELECT sum(r[1]), sum(r[2]), sum(r[3]) FROM (SELECT retention(toDate(ts) = '2026-01-30', toDate(ts) = '2026-01-31', toDate(ts) = '2026-02-01') AS r FROM web_events GROUP BY user_id)",
  },
  {
    name: 'cohorts',
    source: 'web_events',
    sql: 'SELECT user_id, minSimpleState(toDate(ts)) AS first_day, groupUniqArrayArraySimpleState([toDate(ts)]) AS days FROM web_events GROUP BY user_id',
    found: `SELECT first, dateDiff('day', first, day) AS age, count() FROM
      (SELECT user_id, min(first_day) AS first, arrayJoin(groupUniqArrayArray(days)) AS day FROM cohorts GROUP BY user_id) GROUP BY first, age`,
    expected: `SELECT first, dateDiff('day', first, day) AS age, count() FROM
      (SELECT user_id, min(toDate(ts)) AS first, arrayJoin(groupUniqArray(toDate(ts))) AS day FROM web_events GROUP BY user_id) GROUP BY first, age`,
  },
  {
    name: 'view_to_cart',
    source: 'web_events',
    sql: "SELECT session, sequenceCountState('(?1)(?2)')(toDateTime(ts), action = 'view', action = 'cart') AS times FROM web_events GROUP BY session",
    found: "SELECT session, sequenceCountMerge('(?1)(?2)')(times) FROM view_to_cart GROUP BY session",
    expected:
      "SELECT session, sequenceCount('(?1)(?2)')(toDateTime(ts), action = 'view', action = 'cart') FROM web_events GROUP BY session",
  },
  {
    name: 'attribution',
    source: 'web_events',
    sql: "SELECT user_id, argMinIfState(domain(assumeNotNull(referrer)), ts, isNotNull(referrer)) AS first_touch, argMaxIfState(domain(assumeNotNull(referrer)), ts, isNotNull(referrer)) AS last_touch, sumIfState(ms, action = 'buy') AS bought FROM web_events GROUP BY user_id",
    found:
      'SELECT user_id, argMinIfMerge(first_touch), argMaxIfMerge(last_touch), sumIfMerge(bought) FROM attribution GROUP BY user_id',
    expected:
      "SELECT user_id, argMinIf(domain(assumeNotNull(referrer)), ts, isNotNull(referrer)), argMaxIf(domain(assumeNotNull(referrer)), ts, isNotNull(referrer)), sumIf(ms, action = 'buy') FROM web_events GROUP BY user_id",
  },
  {
    name: 'devices',
    source: 'web_events',
    sql: 'SELECT device, referrer, count() AS hits, sum(ms) AS ms FROM web_events GROUP BY device, referrer',
    engine: {
      engine: 'SummingMergeTree',
      engine_sorting_key: 'device, referrer',
      engine_settings: 'allow_nullable_key=1',
    },
    found: 'SELECT device, referrer, sum(hits), sum(ms) FROM devices GROUP BY device, referrer',
    expected: 'SELECT device, referrer, count(), sum(ms) FROM web_events GROUP BY device, referrer',
  },
  {
    name: 'plans',
    source: 'web_events',
    sql: 'SELECT properties.plan::String AS plan, properties.cart.coupon::LowCardinality(String) AS coupon, sumSimpleState(properties.cart.amount::Int64) AS amount, uniqExactState(user_id) AS users FROM web_events GROUP BY plan, coupon',
    found: 'SELECT plan, coupon, sum(amount), uniqExactMerge(users) FROM plans GROUP BY plan, coupon',
    expected:
      'SELECT properties.plan::String AS plan, properties.cart.coupon::String AS coupon, sum(properties.cart.amount::Int64), uniqExact(user_id) FROM web_events GROUP BY plan, coupon',
  },
  {
    name: 'slow_parts',
    source: 'web_events',
    sql: 'SELECT path, arrayFilter(x -> x > 100, timings) AS slow, length(timings) AS parts, arrayMax(timings) AS longest FROM web_events WHERE notEmpty(timings)',
    found: 'SELECT path, sum(length(slow)), sum(parts), max(longest) FROM slow_parts GROUP BY path',
    expected:
      'SELECT path, sum(length(arrayFilter(x -> x > 100, timings))), sum(length(timings)), max(arrayMax(timings)) FROM web_events WHERE notEmpty(timings) GROUP BY path',
  },
  {
    name: 'simple_states',
    source: 'web_events',
    sql: 'SELECT tenant, sumSimpleState(ms) AS total, minSimpleState(ms) AS least, maxSimpleState(ts) AS last, groupBitOrSimpleState(flags) AS flags, groupUniqArrayArraySimpleState(timings) AS seen FROM web_events GROUP BY tenant',
    found:
      'SELECT tenant, sum(total), min(least), max(last), groupBitOr(flags), arraySort(groupUniqArrayArray(seen)) FROM simple_states GROUP BY tenant',
    expected:
      'SELECT tenant, sum(ms), min(ms), max(ts), groupBitOr(flags), arraySort(groupUniqArrayArray(timings)) FROM web_events GROUP BY tenant',
  },
  {
    name: 'european',
    source: 'web_events',
    sql: "WITH splitByChar('/', path)[2] AS section SELECT section, toStartOfDay(ts, 'Europe/Madrid') AS local_day, countState() AS hits FROM web_events WHERE country IN (SELECT code FROM eu_countries) GROUP BY section, local_day",
    found: 'SELECT section, local_day, countMerge(hits) FROM european GROUP BY section, local_day',
    expected:
      "SELECT splitByChar('/', path)[2] AS section, toStartOfDay(ts, 'Europe/Madrid') AS local_day, count() FROM web_events WHERE country IN (SELECT code FROM eu_countries) GROUP BY section, local_day",
  },
  {
    name: 'user_sets',
    source: 'web_events',
    sql: 'SELECT country, groupBitmapState(user_id) AS bitmap, uniqCombinedState(user_id) AS combined, uniqHLL12State(session) AS hll, topKState(3)(path) AS top FROM web_events GROUP BY country',
    found:
      'SELECT country, groupBitmapMerge(bitmap), uniqCombinedMerge(combined), uniqHLL12Merge(hll), length(topKMerge(3)(top)) FROM user_sets GROUP BY country',
    expected:
      'SELECT country, groupBitmap(user_id), uniqCombined(user_id), uniqHLL12(session), length(topK(3)(path)) FROM web_events GROUP BY country',
  },
  {
    name: 'clean_hits',
    source: 'raw_hits',
    before: { cleaned: cleanedHits, typed: `SELECT ${hitColumns} FROM cleaned` },
    sql: 'SELECT * FROM typed',
    engine: { engine: 'MergeTree', engine_sorting_key: 'timestamp', engine_partition_key: 'toYYYYMM(timestamp)' },
    isPopulatedLate: true,
    found: 'SELECT timestamp, session_id, pathname, source, location, device FROM clean_hits',
    expected: `SELECT ${hitColumns} FROM (${cleanedHits})`,
  },
  {
    name: 'top_pages',
    source: 'clean_hits',
    sql: 'SELECT toDate(timestamp) AS day, pathname, device, uniqState(session_id) AS visits, countState() AS hits FROM clean_hits GROUP BY day, pathname, device',
    isPopulated: false,
    found:
      'SELECT day, pathname, device, uniqMerge(visits), countMerge(hits) FROM top_pages GROUP BY day, pathname, device',
    expected: `SELECT toDate(timestamp) AS day, pathname, device, uniq(session_id), count() FROM (SELECT ${hitColumns} FROM (${cleanedHits})) GROUP BY day, pathname, device`,
  },
  {
    name: 'traffic_sources',
    source: 'clean_hits',
    sql: "SELECT toStartOfWeek(timestamp, 1) AS week, source, minSimpleState(toDate(timestamp)) AS since, uniqIfState(session_id, device != 'bot') AS people FROM clean_hits GROUP BY week, source",
    isPopulated: false,
    found: 'SELECT week, source, min(since), uniqIfMerge(people) FROM traffic_sources GROUP BY week, source',
    expected: `SELECT toStartOfWeek(timestamp, 1) AS week, source, min(toDate(timestamp)), uniqIf(session_id, device != 'bot') FROM (SELECT ${hitColumns} FROM (${cleanedHits})) GROUP BY week, source`,
  },
  {
    name: 'web_vitals',
    source: 'raw_hits',
    sql: `SELECT toStartOfHour(timestamp) AS hour, JSONExtractString(payload, 'metric_name') AS metric,
      quantilesTimingState(0.5, 0.75, 0.9)(JSONExtractUInt(payload, 'value')) AS spread, countIfState(JSONExtractUInt(payload, 'value') < 2500) AS good, countState() AS total
      FROM raw_hits WHERE action = 'web_vital' GROUP BY hour, metric`,
    found:
      'SELECT hour, metric, quantilesTimingMerge(0.5, 0.75, 0.9)(spread), countIfMerge(good), countMerge(total) FROM web_vitals GROUP BY hour, metric',
    expected: `SELECT toStartOfHour(timestamp) AS hour, JSONExtractString(payload, 'metric_name') AS metric,
      quantilesTiming(0.5, 0.75, 0.9)(JSONExtractUInt(payload, 'value')), countIf(JSONExtractUInt(payload, 'value') < 2500), count()
      FROM raw_hits WHERE action = 'web_vital' GROUP BY hour, metric`,
  },
  {
    name: 'orders_now',
    source: 'orders',
    sql: 'SELECT order_id, argMaxState(status, updated_at) AS status, argMaxState(price, updated_at) AS price, argMaxState((quantity, coupon), updated_at) AS more, maxSimpleState(updated_at) AS last FROM orders GROUP BY order_id',
    found:
      'SELECT order_id, argMaxMerge(status), argMaxMerge(price), argMaxMerge(more), max(last) FROM orders_now GROUP BY order_id',
    expected:
      'SELECT order_id, argMax(status, updated_at), argMax(price, updated_at), argMax((quantity, coupon), updated_at), max(updated_at) FROM orders GROUP BY order_id',
  },
  {
    name: 'orders_latest',
    source: 'orders',
    sql: 'SELECT order_id, customer_id, status, price, quantity, updated_at FROM orders',
    engine: { engine: 'ReplacingMergeTree', engine_sorting_key: 'order_id', engine_ver: 'updated_at' },
    found: 'SELECT order_id, customer_id, status, price, quantity, updated_at FROM orders_latest FINAL',
    expected:
      'SELECT order_id, customer_id, status, price, quantity, updated_at FROM orders ORDER BY updated_at DESC LIMIT 1 BY order_id',
  },
  {
    name: 'revenue_by_category',
    source: 'orders',
    sql: `SELECT toDate(o.created_at) AS day, p.category AS category, sumState(${revenue.replace('price', 'o.price').replace('quantity', 'o.quantity')}) AS cents, uniqState(o.customer_id) AS buyers FROM orders AS o LEFT JOIN products AS p ON o.product_id = p.product_id GROUP BY day, category`,
    found: 'SELECT day, category, sumMerge(cents), uniqMerge(buyers) FROM revenue_by_category GROUP BY day, category',
    expected: `SELECT toDate(created_at) AS day, category, sum(${revenue}), uniq(customer_id) FROM orders LEFT JOIN products USING product_id GROUP BY day, category`,
  },
  {
    name: 'gifts',
    source: 'orders',
    sql: "SELECT tag, attributes['channel'] AS channel, sumSimpleState(quantity) AS pieces, countState() AS orders FROM orders ARRAY JOIN tags AS tag GROUP BY tag, channel",
    found: 'SELECT tag, channel, sum(pieces), countMerge(orders) FROM gifts GROUP BY tag, channel',
    expected:
      "SELECT tag, attributes['channel'] AS channel, sum(quantity), count() FROM orders ARRAY JOIN tags AS tag GROUP BY tag, channel",
  },
  {
    name: 'order_items',
    source: 'orders',
    sql: 'SELECT order_id, sku, amount, price FROM orders ARRAY JOIN skus AS sku, amounts AS amount',
    found: 'SELECT sku, count(), sum(amount), sum(price) FROM order_items GROUP BY sku',
    expected:
      'SELECT sku, count(), sum(amount), sum(price) FROM orders ARRAY JOIN skus AS sku, amounts AS amount GROUP BY sku',
  },
  {
    name: 'attribute_keys',
    source: 'orders',
    sql: 'SELECT arrayJoin(mapKeys(attributes)) AS key, countState() AS rows FROM orders GROUP BY key',
    found: 'SELECT key, countMerge(rows) FROM attribute_keys GROUP BY key',
    expected: 'SELECT arrayJoin(mapKeys(attributes)) AS key, count() FROM orders GROUP BY key',
  },
  {
    name: 'product_counts',
    source: 'orders',
    sql: 'SELECT customer_id, sumMapState(counts) AS counts, groupUniqArrayState(coupon) AS coupons FROM orders GROUP BY customer_id',
    found:
      'SELECT customer_id, sumMapMerge(counts), arraySort(groupUniqArrayMerge(coupons)) FROM product_counts GROUP BY customer_id',
    expected: 'SELECT customer_id, sumMap(counts), arraySort(groupUniqArray(coupon)) FROM orders GROUP BY customer_id',
  },
  {
    name: 'usage_by_org',
    source: 'usage',
    sql: 'SELECT org_id, toStartOfMonth(at) AS month, feature, sum(units) AS units, count() AS calls, sum(cost) AS cost FROM usage GROUP BY org_id, month, feature',
    engine: {
      engine: 'SummingMergeTree',
      engine_sorting_key: 'org_id, month, feature',
      engine_partition_key: 'toYear(month)',
    },
    found:
      'SELECT org_id, month, feature, sum(units), sum(calls), sum(cost) FROM usage_by_org GROUP BY org_id, month, feature',
    expected:
      'SELECT org_id, toStartOfMonth(at) AS month, feature, sum(units), count(), sum(cost) FROM usage GROUP BY org_id, month, feature',
  },
  {
    name: 'billing',
    source: 'usage',
    sql: 'SELECT org_id, argMaxState((plan, seats), (at, seats, plan)) AS plan, sumIfState(units, billable) AS units, sumIfState(cost, billable) AS cost, uniqExactState(user_id) AS users, maxSimpleState(seats) AS peak FROM usage GROUP BY org_id',
    found:
      'SELECT org_id, argMaxMerge(plan), sumIfMerge(units), sumIfMerge(cost), uniqExactMerge(users), max(peak) FROM billing GROUP BY org_id',
    expected:
      'SELECT org_id, argMax((plan, seats), (at, seats, plan)), sumIf(units, billable), sumIf(cost, billable), uniqExact(user_id), max(seats) FROM usage GROUP BY org_id',
  },
  {
    name: 'error_rates',
    source: 'service_logs',
    sql: "SELECT toStartOfFiveMinutes(ts) AS at, service, labels['env'] AS env, countIfState(status >= 500) AS errors, countState() AS requests, quantilesExactState(0.5, 0.95)(duration_ms) AS spread, avgState(duration_ms) AS mean FROM service_logs GROUP BY at, service, env",
    found:
      'SELECT at, service, env, countIfMerge(errors), countMerge(requests), quantilesExactMerge(0.5, 0.95)(spread), avgMerge(mean) FROM error_rates GROUP BY at, service, env',
    expected:
      "SELECT toStartOfFiveMinutes(ts) AS at, service, labels['env'] AS env, countIf(status >= 500), count(), quantilesExact(0.5, 0.95)(duration_ms), avg(duration_ms) FROM service_logs GROUP BY at, service, env",
  },
  {
    name: 'errors_only',
    source: 'service_logs',
    sql: "%\n{% set bad = ['error'] %}\nSELECT ts, service, toString(level) AS level, labels, trace, extract(message, 'tenant-(\\\\d+)') AS tenant, replaceRegexpOne(message, '\\\\d+ms', 'Nms') AS shape FROM service_logs WHERE toString(level) IN {{Array(bad, 'String')}} OR status >= 500",
    engine: { engine: 'MergeTree', engine_sorting_key: 'service, ts', engine_partition_key: 'toDate(ts)' },
    found: 'SELECT ts, service, level, labels, trace, tenant, shape FROM errors_only',
    expected:
      "SELECT ts, service, toString(level), labels, trace, extract(message, 'tenant-(\\\\d+)'), replaceRegexpOne(message, '\\\\d+ms', 'Nms') FROM service_logs WHERE level = 'error' OR status >= 500",
  },
  {
    name: 'traces',
    source: 'service_logs',
    sql: 'SELECT trace, minSimpleState(ts) AS begun, maxSimpleState(ts) AS ended, groupArrayState((service, status)) AS spans FROM service_logs GROUP BY trace',
    found: 'SELECT trace, min(begun), max(ended), arraySort(groupArrayMerge(spans)) FROM traces GROUP BY trace',
    expected:
      'SELECT trace, min(ts), max(ts), arraySort(groupArray((service, status))) FROM service_logs GROUP BY trace',
  },
  {
    name: 'payments',
    source: 'raw_payments',
    schema:
      "code UInt64, at Nullable(DateTime64(3)), amount Decimal(18, 2), kind LowCardinality(String), ok Bool, note String, source String DEFAULT 'view'",
    sql: typedPayment,
    found: 'SELECT code, at, amount, kind, ok, note, source FROM payments',
    expected: `SELECT code, at, amount, kind, ok, note, 'view' FROM (${typedPayment})`,
  },
  {
    name: 'parsed_readings',
    source: 'readings',
    sql: parsedReading,
    engine: { engine: 'Null' },
    isPopulatedLate: true,
    found: 'SELECT count() FROM parsed_readings',
    expected: 'SELECT 0',
  },
  {
    name: 'readings_by_minute',
    source: 'parsed_readings',
    sql: 'SELECT device, toStartOfMinute(at) AS minute, avgState(celsius) AS celsius, maxSimpleState(humidity) AS humidity FROM parsed_readings GROUP BY device, minute',
    isPopulated: false,
    found: 'SELECT device, minute, avgMerge(celsius), max(humidity) FROM readings_by_minute GROUP BY device, minute',
    expected: `SELECT device, toStartOfMinute(at) AS minute, avg(celsius), max(humidity) FROM (${parsedReading}) GROUP BY device, minute`,
  },
  {
    name: 'last_seen',
    source: 'parsed_readings',
    sql: 'SELECT device, argMaxState((lat, lon, battery), at) AS place, maxSimpleState(at) AS last FROM parsed_readings GROUP BY device',
    isPopulated: false,
    found: 'SELECT device, argMaxMerge(place), max(last) FROM last_seen GROUP BY device',
    expected: `SELECT device, argMax((lat, lon, battery), at), max(at) FROM (${parsedReading}) GROUP BY device`,
  },
  {
    name: 'subscriptions',
    source: 'subscription_changes',
    sql: 'SELECT account, version, plan, seats, sign FROM subscription_changes',
    engine: { engine: 'CollapsingMergeTree', engine_sorting_key: 'account, version', engine_sign: 'sign' },
    found: 'SELECT plan, sum(sign), sum(seats * sign) FROM subscriptions GROUP BY plan HAVING sum(sign) != 0',
    expected: 'SELECT plan, sum(sign), sum(seats * sign) FROM subscription_changes GROUP BY plan HAVING sum(sign) != 0',
  },
]
