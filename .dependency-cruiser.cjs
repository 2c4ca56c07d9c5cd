// The doors of the house in code (ARCHITECTURE.md tells the same in words). `npm run house` checks them.

/** Which rooms a room may open, beside itself. Types count as much as values do. */
const doors = {
  shared: [],
  observe: ['shared'],
  codec: ['shared'],
  guess: ['codec', 'schema', 'shared'],
  wal: ['shared'],
  directory: ['observe', 'shared'],
  schema: ['shared'],
  catalog: ['schema', 'shared'],
  template: ['shared'],
  sql: ['schema', 'catalog', 'shared'],
  access: ['sql', 'catalog', 'schema', 'shared'],
  jobs: ['catalog', 'observe', 'shared'],
  store: ['codec', 'observe', 'shared'],
  materialize: ['sql', 'template', 'store', 'catalog', 'schema', 'jobs', 'observe', 'shared'],
  ingest: ['codec', 'guess', 'wal', 'store', 'catalog', 'jobs', 'observe', 'shared'],
  query: ['sql', 'template', 'store', 'catalog', 'schema', 'jobs', 'observe', 'shared'],
  pipes: ['query', 'sql', 'template', 'catalog', 'schema', 'observe', 'shared'],
  datasources: ['guess', 'ingest', 'materialize', 'sql', 'store', 'catalog', 'schema', 'jobs', 'observe', 'shared'],
  http: [
    'access',
    'guess',
    'datasources',
    'pipes',
    'ingest',
    'query',
    'materialize',
    'jobs',
    'catalog',
    'observe',
    'shared',
  ],
}

/** Which files may know a package. Who is not named here asks for what he needs through a room. */
const owners = {
  '@clickhouse/client': '^src/store/',
  '@fastify/busboy': '^src/(http|ingest)/',
  '@mongodb-js/zstd': '^src/(http|ingest)/',
  'apache-arrow': '^src/codec/',
  // The engine's own process loads it, the service never does.
  chdb: '^src/store/embedded/(chdb-session|engine-child)[.]ts$',
  'csv-parse': '^src/guess/',
  fastify: '^src/(http/|app[.]ts$)',
  fflate: '^src/http/',
  lmdb: '^src/(catalog|jobs|access)/[^/]*storage[.]ts$',
  ndjson: '^src/guess/',
  pino: '^src/observe/',
  piscina: '^(src/ingest|workers)/',
}

const roomNames = Object.keys(doors).join('|')

const doorRules = Object.entries(doors).map(([room, open]) => ({
  name: `${room}-doors`,
  comment: `src/${room} may open: ${open.join(', ') || 'nothing'}.`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: { path: '^(src|workers)/', pathNot: `^src/(${[room, ...open].join('|')})/` },
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
      comment: 'Rows walk through the house in one direction.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unknown-rooms',
      comment: 'A new room gets its doors in this file first.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: `^src/(${roomNames})/` },
      to: {},
    },
    {
      name: 'no-entry-to-unknown-rooms',
      comment: 'A new room gets its doors in this file first.',
      severity: 'error',
      from: {},
      to: { path: '^src/[^/]+/', pathNot: `^src/(${roomNames})/` },
    },
    {
      name: 'workers-are-thin',
      comment: 'A worker takes a message, calls the codec and gives the buffers back; one writes the log.',
      severity: 'error',
      from: { path: '^workers/' },
      to: { path: '^(src|workers)/', pathNot: '^src/(codec|observe|shared)/' },
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
      comment: 'The floor under all rooms does no I/O.',
      severity: 'error',
      from: { path: '^src/shared/' },
      to: { path: '^(node:)?(fs|net|http|http2|https|tls|dgram|worker_threads|child_process)(/|$)' },
    },
    {
      name: 'options-in-config-never',
      comment:
        'A room is handed its options; only main.ts reads the values of config. Types may be named by the frame.',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/(main|config[^/]*)[.]ts$' },
      to: { path: '^src/config', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'config-opens-shared-only',
      comment: 'The options table knows sizes, not rooms.',
      severity: 'error',
      from: { path: '^src/config' },
      to: { path: '^(src|workers)/', pathNot: '^src/(config|shared/)' },
    },
    {
      name: 'nobody-imports-main',
      comment: 'main.ts opens the rooms; no room knows who opened it.',
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
    ...doorRules,
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
