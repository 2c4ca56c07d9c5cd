// The boundaries between modules, in code (ARCHITECTURE.md tells the same in words). `npm run boundaries` checks them.

/** Which modules a module may import, beside itself. Types count as much as values do. */
const imports = {
  shared: [],
  observe: ['shared'],
  metrics: ['shared'],
  schema: ['shared'],
  codec: ['schema', 'shared'],
  guess: ['codec', 'schema', 'shared'],
  wal: ['shared'],
  directory: ['observe', 'shared'],
  storage: ['directory', 'shared'],
  secrets: ['storage', 'directory', 'observe', 'shared'],
  catalog: ['secrets', 'storage', 'schema', 'shared'],
  template: ['shared'],
  sql: ['schema', 'catalog', 'shared'],
  access: ['sql', 'catalog', 'secrets', 'storage', 'schema', 'observe', 'shared'],
  cluster: ['observe', 'shared'],
  limits: ['storage', 'observe', 'shared'],
  notifications: ['limits', 'storage', 'observe', 'shared'],
  jobs: ['catalog', 'directory', 'storage', 'metrics', 'observe', 'shared'],
  store: ['codec', 'schema', 'metrics', 'observe', 'shared'],
  'service-rows': ['store', 'observe', 'shared'],
  materialize: ['sql', 'template', 'store', 'catalog', 'schema', 'jobs', 'directory', 'storage', 'observe', 'shared'],
  ingest: ['codec', 'guess', 'wal', 'store', 'catalog', 'schema', 'jobs', 'directory', 'metrics', 'observe', 'shared'],
  query: ['sql', 'template', 'store', 'catalog', 'schema', 'jobs', 'observe', 'shared'],
  pipes: ['query', 'sql', 'template', 'catalog', 'schema', 'observe', 'shared'],
  datasources: [
    'guess',
    'ingest',
    'materialize',
    'sql',
    'store',
    'storage',
    'catalog',
    'schema',
    'jobs',
    'observe',
    'shared',
  ],
  receipts: ['materialize', 'ingest', 'store', 'jobs', 'storage', 'catalog', 'shared'],
  imports: ['datasources', 'ingest', 'guess', 'jobs', 'storage', 'catalog', 'schema', 'observe', 'shared'],
  http: [
    'access',
    'imports',
    'guess',
    'datasources',
    'pipes',
    'ingest',
    'query',
    'materialize',
    'receipts',
    'jobs',
    'cluster',
    'limits',
    'catalog',
    'schema',
    'metrics',
    'observe',
    'shared',
  ],
}

/**
 * Which folders of its module a folder may import, beside itself; files beside the folders, such as types, are open to all
 * but for those that put the module together (`composers`).
 */
const folders = {
  http: {
    json: [],
    request: ['json'],
    server: ['request', 'json'],
    routes: ['server', 'request', 'json'],
  },
  ingest: {
    unpack: ['parquet'],
    parse: ['unpack'],
    parquet: ['insert', 'parse', 'unpack'],
    insert: ['parse', 'parquet'],
    bodies: ['insert', 'parse', 'parquet', 'unpack'],
    // Events and imports meet only in what lies below both.
    events: ['insert', 'parse'],
  },
  imports: { url: [], 'url-jobs': ['url'] },
  datasources: {
    alter: ['quarantine'],
    replace: [],
    quarantine: [],
    recovery: [],
    'row-delete': [],
  },
  schema: {
    syntax: ['functions', 'time-zones'],
    'time-zones': ['syntax'],
    functions: ['syntax'],
    types: ['syntax', 'time-zones'],
    expressions: ['syntax', 'functions', 'time-zones'],
    columns: ['expressions', 'syntax', 'types'],
    engines: ['columns', 'expressions', 'syntax', 'types'],
    definitions: ['columns', 'engines', 'expressions', 'functions', 'syntax', 'time-zones', 'types'],
  },
  codec: {
    'scan-kernel': ['coercion'],
    coercion: ['json'],
    json: ['columns', 'scan-kernel'],
    columns: ['coercion', 'json', 'scan-kernel'],
    csv: ['columns', 'coercion', 'scan-kernel'],
    arrow: ['columns'],
  },
  store: { sql: [], embedded: ['sql'] },
  template: { functions: [] },
}

/** Files that put a module together: its folders know nothing of them. */
const composers = '^src/(ingest/ingest|datasources/datasources|store/open-store|template/compile-template)[.]ts$'

/** Which files may know a package. Others ask the module that owns it. */
const owners = {
  '@clickhouse/client': '^src/store/',
  '@fastify/busboy': '^src/http/',
  '@mongodb-js/zstd': '^src/(http|ingest)/',
  '@opentelemetry': '^src/observe/traces/',
  'apache-arrow': '^src/codec/',
  // The engine's own process loads it, the service never does.
  chdb: '^src/store/embedded/(chdb-session|engine-child)[.]ts$',
  'csv-parse': '^src/guess/',
  'fast-jwt': '^src/access/jwt/',
  fastify: '^src/(http/|app[.]ts$)',
  fflate: '^src/http/',
  'ipaddr.js': '^src/imports/url/',
  lmdb: '^src/storage/lmdb-storage[.]ts$',
  ndjson: '^src/http/',
  nodemailer: '^src/notifications/email-channel[.]ts$',
  pino: '^src/observe/',
  piscina: '^(src/ingest|workers)/',
  'prom-client': '^src/metrics/',
  undici: '^src/imports/url/',
}

const moduleNames = Object.keys(imports).join('|')

const moduleRules = Object.entries(imports).map(([name, open]) => ({
  name: `imports-of-${name}`,
  comment: `src/${name} may import: ${open.join(', ') || 'nothing'}.`,
  severity: 'error',
  from: { path: `^src/${name}/` },
  to: { path: '^(src|workers)/', pathNot: `^src/(${[name, ...open].join('|')})/` },
}))

const folderRules = Object.entries(folders).flatMap(([name, open]) =>
  Object.entries(open).map(([folder, others]) => ({
    name: `imports-of-${name}-${folder}`,
    comment: `src/${name}/${folder} may import of its module: ${others.join(', ') || 'nothing'}, and types beside the folders.`,
    severity: 'error',
    from: { path: `^src/${name}/${folder}/` },
    to: { path: [`^src/${name}/[^/]+/`, composers], pathNot: `^src/${name}/(${[folder, ...others].join('|')})/` },
  })),
)

const unknownFolderRules = Object.entries(folders).map(([name, open]) => ({
  name: `folders-of-${name}`,
  comment: 'A new folder gets its line in this file first.',
  severity: 'error',
  from: { path: `^src/${name}/[^/]+/`, pathNot: `^src/${name}/(kernel|${Object.keys(open).join('|')})/` },
  to: {},
}))

const ownerRules = Object.entries(owners).map(([name, owner]) => ({
  name: `owner-of-${name}`,
  comment: `${name} belongs to ${owner}.`,
  severity: 'error',
  from: { path: '^(src|workers)/', pathNot: owner },
  to: { path: `node_modules/${name}/` },
}))

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Modules depend on one another in one direction.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unknown-modules',
      comment: 'A new module gets its line in this file first.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: `^src/(${moduleNames})/` },
      to: {},
    },
    {
      name: 'no-imports-of-unknown-modules',
      comment: 'A new module gets its line in this file first.',
      severity: 'error',
      from: {},
      to: { path: '^src/[^/]+/', pathNot: `^src/(${moduleNames})/` },
    },
    {
      name: 'workers-are-thin',
      comment:
        'A worker takes a message, calls the codec and gives the buffers back; one writes the log, one opens sealed texts.',
      severity: 'error',
      from: { path: '^workers/' },
      to: { path: '^(src|workers)/', pathNot: '^src/(codec|observe|schema|shared|secrets/open(-sealed|ing-thread))' },
    },
    {
      name: 'scopes-are-made-by-access',
      comment:
        'Who reads is handed a scope; service.ts hands the scope of the service itself to those that read for nobody.',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/(access/|service[.]ts$)' },
      to: { path: '^src/access/(admin|read)-scope[.]ts$' },
    },
    {
      name: 'codec-is-pure',
      comment: 'Bytes in, bytes out: no clock, file, socket or thread; one file reads the compiled kernel beside it.',
      severity: 'error',
      from: { path: '^src/codec/', pathNot: '^src/codec/kernel-module[.]ts$' },
      to: { path: '^(node:)?(fs|net|http|http2|https|tls|dgram|timers|worker_threads|child_process)(/|$)' },
    },
    {
      name: 'guess-is-pure',
      comment: 'A sample in, a guess out: no clock, file, socket or thread.',
      severity: 'error',
      from: { path: '^src/guess/' },
      to: { path: '^(node:)?(fs|net|http|http2|https|tls|dgram|timers|worker_threads|child_process)(/|$)' },
    },
    {
      name: 'schema-is-pure',
      comment: 'Text in, values out: no clock, file, socket or thread.',
      severity: 'error',
      from: { path: '^src/schema/' },
      to: { path: '^(node:)?(fs|net|http|http2|https|tls|dgram|timers|worker_threads|child_process)(/|$)' },
    },
    {
      name: 'shared-does-no-io',
      comment: 'What all modules use does no I/O.',
      severity: 'error',
      from: { path: '^src/shared/' },
      to: { path: '^(node:)?(fs|net|http|http2|https|tls|dgram|worker_threads|child_process)(/|$)' },
    },
    {
      name: 'options-in-config-never',
      comment:
        'A module is handed its options; only main.ts reads the values of config. Types may be named by who opens them.',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/(main|config[^/]*)[.]ts$' },
      to: { path: '^src/config', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'config-imports-shared-only',
      comment: 'The options table knows sizes, not modules.',
      severity: 'error',
      from: { path: '^src/config' },
      to: { path: '^(src|workers)/', pathNot: '^src/(config|shared/)' },
    },
    {
      name: 'nobody-imports-main',
      comment: 'main.ts opens the modules; none knows who opened it.',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: { path: '^src/main[.]ts$' },
    },
    {
      name: 'nobody-imports-the-engine-process',
      comment: 'The entry of the engine process is run, not imported, and so are the sessions of chdb.',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/store/embedded/(chdb-sessions?|engine-child)[.]ts$' },
      to: { path: '^src/store/embedded/(chdb-sessions?|engine-child)[.]ts$' },
    },
    {
      name: 'src-never-imports-tests',
      comment: 'What ships knows nothing of tests, benchmarks and fixtures.',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: { path: '^(test|benchmarks|fixtures)/' },
    },
    {
      name: 'no-development-packages',
      comment: 'What ships needs only what `npm install --omit=dev` installs.',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-undeclared-packages',
      comment: 'Each package that is imported stands in package.json.',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-broken-imports',
      comment: 'Each import leads to a file.',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: { couldNotResolve: true },
    },
    ...moduleRules,
    ...folderRules,
    ...unknownFolderRules,
    ...ownerRules,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    // Without them `csv-parse/sync` leads nowhere.
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}
