// Data sources as projects have them, with rows that follow from their number alone: so whoever makes some twice has the same.

export interface ProjectSource {
  readonly name: string
  readonly schema: string
  /** `engine` and `engine_…` of its creation. */
  readonly engine: Readonly<Record<string, string>>
  readonly row: (index: number) => object
}

const startMs = Date.UTC(2026, 0, 30, 20)
const iso = (ms: number): string => new Date(ms).toISOString().slice(0, 23).replace('T', ' ')
/** Every row has a moment of its own, so that the last of some is one; they go over the end of a month. */
const momentOf = (index: number): string => iso(startMs + index * 547_013)
const secondOf = (index: number): string => momentOf(index).slice(0, 19)

function pick<Item>(items: readonly Item[], index: number): Item {
  const item = items[Math.floor(index) % items.length]
  if (item === undefined) throw new Error('there is nothing to pick from')
  return item
}

const urls = ['/', '/pricing', '/docs/start', '/docs/api/events', '/blog/one?utm_source=n']
const byDay = { engine: 'MergeTree', engine_partition_key: 'toYYYYMM(ts)', engine_sorting_key: 'tenant, ts' }

export const projectSources: readonly ProjectSource[] = [
  {
    name: 'web_events',
    schema: `ts DateTime64(3), tenant LowCardinality(String), user_id UInt32, session String, action LowCardinality(String),
      path String, referrer Nullable(String), country LowCardinality(String), device LowCardinality(Nullable(String)),
      properties JSON, timings Array(UInt32), flags UInt8, ms UInt32`,
    engine: byDay,
    row: (index) => ({
      ts: momentOf(index),
      tenant: pick(['acme', 'globex', 'initech'], index),
      user_id: (index * 7) % 23,
      session: `s${index % 41}`,
      action: pick(['view', 'view', 'cart', 'view', 'buy'], index),
      path: pick(urls, index * 3),
      referrer: index % 3 === 0 ? null : pick(['https://www.search.example/q', 'https://news.example/a/b'], index),
      country: pick(['ES', 'PT', 'FR', 'US'], index),
      device: index % 5 === 0 ? null : pick(['mobile', 'desktop'], index % 41),
      properties: { plan: pick(['free', 'pro'], index), cart: { amount: index % 90, coupon: `c${index % 4}` } },
      timings: Array.from({ length: index % 4 }, (_, n) => (index * 13 + n * 70) % 300),
      flags: 1 << (index % 6),
      ms: (index * 37) % 900,
    }),
  },
  {
    name: 'raw_hits',
    schema:
      'timestamp DateTime, session_id String, action LowCardinality(String), version LowCardinality(String), payload String',
    engine: { engine: 'MergeTree', engine_partition_key: 'toYYYYMM(timestamp)', engine_sorting_key: 'timestamp' },
    row: (index) => ({
      timestamp: secondOf(index),
      session_id: `s${index % 29}`,
      action: index % 6 === 0 ? 'web_vital' : 'page_hit',
      version: '1',
      payload: JSON.stringify({
        pathname: pick(urls, index),
        href: `https://www.shop.example${pick(urls, index)}`,
        referrer: pick(['', 'https://www.search.example/', 'https://social.example/p'], index),
        'user-agent': pick(['Mozilla/5.0 (iPhone)', 'Mozilla/5.0 (X11; Linux) Firefox/1', 'Googlebot/2.1'], index * 5),
        location: pick(['ES', 'PT'], index),
        metric_name: pick(['LCP', 'CLS', 'INP'], index / 6),
        value: (index * 113) % 5_000,
      }),
    }),
  },
  {
    name: 'orders',
    schema: `order_id UInt64, customer_id UInt32, product_id UInt32, status LowCardinality(String), price Decimal(12, 2),
      quantity UInt16, coupon Nullable(String), tags Array(String), attributes Map(String, String), counts Map(String, UInt64),
      skus Array(String), amounts Array(UInt32), created_at DateTime, updated_at DateTime64(3)`,
    engine: {
      engine: 'MergeTree',
      engine_partition_key: 'toYYYYMM(created_at)',
      engine_sorting_key: 'customer_id, order_id',
    },
    row: (index) => ({
      order_id: index % 90,
      customer_id: (index * 11) % 17,
      product_id: index % 8,
      status: pick(['placed', 'paid', 'sent', 'returned'], index / 90 + (index % 3)),
      price: ((index * 31) % 20_000) / 100,
      quantity: 1 + (index % 5),
      coupon: index % 4 === 0 ? `C${index % 3}` : null,
      tags: index % 3 === 0 ? [] : ['gift', `t${index % 4}`],
      attributes: { channel: pick(['web', 'app'], index), ...(index % 2 === 0 ? { campaign: `k${index % 3}` } : {}) },
      counts: { [`p${index % 5}`]: 1 + (index % 7), all: 1 },
      skus: [`a${index % 6}`, `b${index % 4}`].slice(0, 1 + (index % 2)),
      amounts: [index % 9, index % 5].slice(0, 1 + (index % 2)),
      created_at: secondOf(index % 90),
      updated_at: momentOf(index),
    }),
  },
  {
    name: 'usage',
    schema: `at DateTime, org_id UInt32, user_id UInt64, plan LowCardinality(String), feature LowCardinality(String), units UInt64,
      seats UInt16, billable Bool, cost Decimal(18, 6)`,
    engine: { engine: 'MergeTree', engine_sorting_key: 'org_id, at' },
    row: (index) => ({
      at: secondOf(index),
      org_id: index % 6,
      user_id: (index * 13) % 50,
      plan: pick(['free', 'team', 'scale'], index / 60 + (index % 6)),
      feature: pick(['api', 'sync', 'export'], index),
      units: (index * 17) % 1_000,
      seats: 1 + Math.floor(index / 50),
      billable: index % 4 !== 0,
      cost: ((index * 7_919) % 1_000_000) / 1_000_000,
    }),
  },
  {
    name: 'service_logs',
    schema: `ts DateTime64(6), service LowCardinality(String), level Enum8('debug' = 1, 'info' = 2, 'error' = 3), status UInt16,
      duration_ms UInt32, labels Map(LowCardinality(String), String), trace UUID, message String`,
    engine: { engine: 'MergeTree', engine_partition_key: 'toDate(ts)', engine_sorting_key: 'service, ts' },
    row: (index) => ({
      ts: momentOf(index),
      service: pick(['gateway', 'billing', 'mail'], index),
      level: pick(['info', 'debug', 'info', 'error'], index),
      status: pick([200, 200, 204, 404, 500, 503], index),
      duration_ms: (index * 53) % 2_000,
      labels: { env: pick(['prod', 'stage'], index / 2), host: `h${index % 3}` },
      trace: `00000000-0000-4000-8000-${String(index % 70).padStart(12, '0')}`,
      message: `request ${index} of tenant-${index % 4} took ${index % 100}ms`,
    }),
  },
  {
    name: 'raw_payments',
    schema: 'code String, at String, amount String, kind String, ok String, note Nullable(String)',
    engine: { engine: 'MergeTree', engine_sorting_key: 'code' },
    row: (index) => ({
      code: index % 10 === 9 ? 'none' : String(index),
      at: index % 7 === 0 ? 'unknown' : new Date(startMs + index * 60_000).toISOString(),
      amount: index % 8 === 0 ? 'free' : (index / 4).toFixed(2),
      kind: pick(['card', 'transfer'], index),
      ok: pick(['true', 'false', ''], index),
      note: index % 2 === 0 ? null : `n${index % 3}`,
    }),
  },
  {
    name: 'readings',
    schema: 'device UInt32, at DateTime, line String, battery UInt8',
    engine: { engine: 'MergeTree', engine_sorting_key: 'device, at' },
    row: (index) => ({
      device: index % 12,
      at: secondOf(index),
      line: `${20 + (index % 15)};${(index * 3) % 100};${40 + (index % 5)}.25;-3.5`,
      battery: 100 - (index % 60),
    }),
  },
  {
    name: 'subscription_changes',
    schema: 'account UInt32, version UInt32, plan LowCardinality(String), seats UInt16, sign Int8',
    engine: { engine: 'MergeTree', engine_sorting_key: 'account' },
    // Each account has states 0, 1, 2, …, and takes the one before back with each.
    row: (index) => {
      const [account, step] = [index % 9, Math.floor(index / 9)]
      const version = Math.ceil(step / 2)
      const isTakenBack = step % 2 === 1
      const shown = isTakenBack ? version - 1 : version
      return {
        account,
        version: shown,
        plan: pick(['s', 'm', 'l'], shown + account),
        seats: 1 + shown,
        sign: isTakenBack ? -1 : 1,
      }
    },
  },
]

/** What is joined: there before any view. */
export const projectDimensions: readonly (Omit<ProjectSource, 'row'> & { readonly rows: readonly object[] })[] = [
  {
    name: 'products',
    schema: 'product_id UInt32, category LowCardinality(String), brand String',
    engine: { engine: 'MergeTree', engine_sorting_key: 'product_id' },
    rows: Array.from({ length: 6 }, (_, id) => ({
      product_id: id,
      category: pick(['toys', 'books'], id),
      brand: `b${id}`,
    })),
  },
  {
    name: 'eu_countries',
    schema: 'code String, region String',
    engine: { engine: 'MergeTree', engine_sorting_key: 'code' },
    rows: [
      { code: 'ES', region: 'south' },
      { code: 'PT', region: 'south' },
      { code: 'FR', region: 'north' },
    ],
  },
]
