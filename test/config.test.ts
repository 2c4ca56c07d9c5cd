import t from 'tap'
import { environmentName, flagName, type Options, optionKeys, optionTable } from '../src/config.ts'
import { type OptionReading, readOptions } from '../src/config-reader.ts'
import { helpText } from '../src/config-text.ts'

const machine = { coreCount: 6, memoryBytes: 16 * 1024 ** 3 }

function read(flags: readonly string[], environment: Record<string, string> = {}): OptionReading {
  return readOptions({ flags, environment, machine })
}

function optionsOf(flags: readonly string[], environment: Record<string, string> = {}): Options {
  const reading = read(flags, environment)
  if (reading.kind !== 'options') throw new Error(`expected options, got ${JSON.stringify(reading)}`)
  return reading.options
}

function problemsOf(flags: readonly string[], environment: Record<string, string> = {}): readonly string[] {
  const reading = read(flags, environment)
  return reading.kind === 'wrong' ? reading.problems : []
}

t.test('without configuration every option has its default', async (t) => {
  t.same(read([]), {
    kind: 'options',
    warnings: [],
    options: {
      host: '127.0.0.1',
      port: 7181,
      dataDir: './millrace-data',
      adminToken: undefined,
      showToken: false,
      secretKeyFile: '',
      rotateSecretKey: false,
      documentationUrl: '',
      logLevel: 'info',
      logFormat: 'auto',
      workers: 6,
      frameBytes: 8_388_608,
      framesInFlightMax: 12,
      insertRowsMax: 1_000_000,
      insertBytesMax: 16 * 1024 * 1024,
      insertsInFlightMax: 2,
      insertTimeMaxMs: 60_000,
      partitionsPerBodyMax: 1_000,
      partitionsMax: 10_000,
      recordBytesMax: 16_777_216,
      sampleBytesMax: 262_144,
      eventsBodyBytesMax: 10_000_000,
      decompressedBytesMax: 34_359_738_368,
      parquetBytesMax: 5_368_709_120,
      urlAllow: '',
      urlAllowHttp: false,
      urlCredentials: false,
      urlPorts: '80,443,8080,8443,9000',
      urlBytesMax: 34_359_738_368,
      urlConnectionsMax: 4,
      urlPieceBytes: 8_388_608,
      urlAttemptsMax: 8,
      urlRetryDelayMaxMs: 30_000,
      urlRedirectsMax: 5,
      urlConnectTimeoutMs: 10_000,
      urlHeadersTimeoutMs: 60_000,
      urlIdleTimeoutMs: 60_000,
      urlHeaderBytesMax: 65_536,
      formBytesMax: 8_388_608,
      bodiesBytesMax: 67_108_864,
      columnsMax: 500,
      sqlBytesMax: 131_072,
      resultBytesMax: 104_857_600,
      resultFilesBytesMax: 2 * 1024 ** 3,
      queryTimeMaxMs: 10_000,
      queryThreads: 1,
      queryThreadsMax: 6,
      responseCacheBytesMax: 67_108_864,
      eventsPendingBytesMax: 67_108_864,
      eventsBacklogBytesMax: 268_435_456,
      viewsBacklogBytesMax: 67_108_864,
      receiptWaitMaxMs: 10_000,
      receiptWaitsMax: 1_000,
      viewsBacklogImportBytesMax: 1_073_741_824,
      eventsLogBytesMax: 1_073_741_824,
      eventsLogOnDamage: 'refuse',
      eventsFlushRowsMax: 100_000,
      eventsFlushBytesMax: 16_777_216,
      eventsFlushIdleMs: 20,
      eventsFlushAgeMs: 100,
      eventsWaitMaxMs: 10_000,
      eventsIdempotency: 'key',
      idempotencyKeysMax: 100_000,
      views: 'isolated',
      missingDataSource: 'create',
      tokenFilters: 'allow',
      publishFirstNode: false,
      plan: 'unlimited',
      planVariant: 'a',
      schemaCreatesPerMinuteMax: 0,
      importsPerMinuteMax: 0,
      eventsPerSecondMax: 0,
      eventsCreatesPerMinuteMax: 5,
      queriesPerSecondMax: 0,
      queriesBurstFactor: 2,
      queriesOverage: 'plan',
      overagePriceMicros: 0,
      baseFeeMicros: 0,
      overageCostPercentMax: 20,
      queriesPerDayMax: 0,
      processorPercentMax: 0,
      processorBurstFactor: 2,
      processorBaseRateMs: 300_000,
      dataSourcesMax: 10_000,
      bodyUploadBytesMax: 0,
      multipartBytesMax: 0,
      multipartParquetBytesMax: 0,
      deleteJobsActiveMax: 0,
      storageBytesMax: 0,
      storageOverage: 'tell',
      engineMemoryBytesMax: 8_589_934_592,
      readSessions: 8,
      clusterMemoryPercentMax: 80,
      clusterLoadPerCoreMax: 3,
      clusterErrorPercentMax: 10,
      clusterProcessorPercentMin: 20,
      clusterWindowMs: 15_000,
      tokensMax: 100_000,
      urlImportsMax: 2,
      urlTimeMaxMs: 86_400_000,
      urlRateMin: 65_536,
      tokenBytesMax: 262_144,
      tokensBytesMax: 268_435_456,
      jobsWaitingMax: 1_000,
      jobsWaitingPerTokenMax: 200,
      jobSliceMs: 60_000,
      jobsKeptMax: 10_000,
      deleteJobsWorkingMax: 3,
      populateJobsWorkingMax: 1,
      populateChunkRowsMax: 2_000_000,
      verifyRowsMax: 20_000_000,
      verifyTimeMaxMs: 60_000,
      queryJobsWorkingMax: 2,
      queryJobTimeMaxMs: 600_000,
      jobResultsBytesMax: 1024 ** 3,
      jobResultsBytesPerTokenMax: 256 * 1024 ** 2,
      jobResultHoursMax: 24,
      metrics: 'on',
      metricsAddresses: '',
      metricsLabelsMax: 200,
      smtpUrl: undefined,
      smtpTls: 'required',
      emailFrom: '',
      emailTo: '',
      webhookUrl: undefined,
      webhookSecret: undefined,
      webhookAllow: '',
      webhookAllowHttp: false,
      notificationsCheckMs: 60_000,
      notificationsRepeatHours: 24,
      notificationsTimeoutMs: 10_000,
      notificationsAttemptsMax: 12,
      notificationsWaitingMax: 100,
      serviceSources: 'on',
      serviceRowsFlushMs: 5_000,
      serviceRowsBytesMax: 8 * 1024 * 1024,
      serviceRequestDays: 7,
      serviceTotalDays: 90,
      serviceOperationDays: 30,
      tracesUrl: '',
      tracesHeaders: undefined,
      traceSamplePercent: 10,
      tracesPerSecondMax: 100,
      traceSpansMax: 8_192,
      variablesRequestsPerSecondMax: 0,
      tlsCertFile: '',
      tlsKeyFile: '',
      hstsSeconds: 86_400,
      http2: false,
      http2StreamsMax: 100,
      trustedProxies: '127.0.0.1,::1',
      publicHosts: '',
      corsOrigins: '*',
      connectionsMax: 4_096,
      connectionsPerAddressMax: 1_024,
      connectionIdleMsMax: 120_000,
      keepAliveMs: 72_000,
      headersTimeoutMs: 60_000,
      headersMax: 256,
      bodyRateMin: 100,
      bodyRateWindowMs: 120_000,
      requestTimeoutMs: 0,
      closeTimeoutMs: 30_000,
    },
  })
})

t.test('a default that the machine decides stays within the range of its option', async (t) => {
  const large = readOptions({ flags: [], environment: {}, machine: { coreCount: 96, memoryBytes: 2 ** 40 } })
  t.match(large, { options: { workers: 64, framesInFlightMax: 128, engineMemoryBytesMax: 2 ** 39 } })
  const small = readOptions({ flags: [], environment: {}, machine: { coreCount: 1, memoryBytes: 256 * 1024 ** 2 } })
  t.match(small, { options: { workers: 1, framesInFlightMax: 2, engineMemoryBytesMax: 512 * 1024 ** 2 } })
})

t.test('frames in flight follow the number of workers that was asked for', async (t) => {
  t.equal(optionsOf(['--workers', '3']).framesInFlightMax, 6)
  t.equal(optionsOf(['--workers', '3', '--frames-in-flight-max', '5']).framesInFlightMax, 5)
})

t.test('a flag goes before the environment, and the environment before the default', async (t) => {
  t.equal(optionsOf([], { MILLRACE_PORT: '8000' }).port, 8000)
  t.equal(optionsOf(['--port', '9000'], { MILLRACE_PORT: '8000' }).port, 9000)
  t.equal(optionsOf(['--port=9001'], { MILLRACE_PORT: '8000' }).port, 9001)
  t.equal(optionsOf(['--data-dir', '/data']).dataDir, '/data')
  t.equal(optionsOf([], { MILLRACE_DATA_DIR: '/data' }).dataDir, '/data')
  t.equal(optionsOf(['--port', '1', '--port', '2']).port, 2, 'the last of two flags')
})

t.test('an empty environment variable counts as unset', async (t) => {
  t.equal(optionsOf([], { MILLRACE_PORT: '' }).port, 7181)
  t.equal(optionsOf([], { MILLRACE_ADMIN_TOKEN: '' }).adminToken, undefined)
})

t.test('a size may have a suffix, and a number of anything else may not', async (t) => {
  t.equal(optionsOf(['--frame-bytes', '65536']).frameBytes, 65_536)
  t.equal(optionsOf(['--frame-bytes', '64KiB']).frameBytes, 65_536)
  t.equal(optionsOf(['--frame-bytes', '2MiB']).frameBytes, 2_097_152)
  t.equal(optionsOf(['--frame-bytes', '2 MB']).frameBytes, 2_000_000)
  t.equal(optionsOf(['--decompressed-bytes-max', '1GiB']).decompressedBytesMax, 1_073_741_824)
  t.same(problemsOf(['--port', '7KiB']), ['--port is "7KiB", but must be a whole number.'])
  t.same(problemsOf(['--frame-bytes', '2 parsecs']), [
    '--frame-bytes is "2 parsecs", but must be a whole number, such as 1048576, 64MiB or 10MB.',
  ])
})

t.test('a bad number is told with the name that the user wrote', async (t) => {
  t.same(problemsOf(['--port', 'http']), ['--port is "http", but must be a whole number.'])
  t.same(problemsOf([], { MILLRACE_PORT: '71.5' }), ['MILLRACE_PORT is "71.5", but must be a whole number.'])
  t.same(problemsOf(['--port=-1']), ['--port is "-1", but must be a whole number.'])
  t.same(problemsOf(['--port=']), ['--port is "", but must be a whole number.'])
})

for (const key of optionKeys) {
  const definition = optionTable[key]
  if (definition.kind !== 'integer') continue
  t.test(`${key} takes its least and its most value, and none beyond`, async (t) => {
    const flag = `--${flagName(key)}`
    t.equal(optionsOf([flag, String(definition.min)])[key], definition.min)
    t.equal(optionsOf([flag, String(definition.max)])[key], definition.max)
    t.match(problemsOf([flag, String(definition.max + 1)])[0], /but must be from .+ to .+\.$/)
    if (definition.min > 0) t.match(problemsOf([flag, String(definition.min - 1)])[0], /but must be from .+ to .+\.$/)
  })
}

t.test('a range of sizes is told in units that people read', async (t) => {
  t.same(problemsOf(['--frame-bytes', '1']), ['--frame-bytes is 1, but must be from 4 KiB to 256 MiB.'])
})

t.test('a word that is none of the choices is told with the choices', async (t) => {
  t.equal(optionsOf([], { MILLRACE_LOG_LEVEL: 'silent' }).logLevel, 'silent')
  t.same(problemsOf(['--log-level', 'loud']), [
    '--log-level is "loud", but must be one of trace, debug, info, warn, error, fatal, silent.',
  ])
})

t.test('a wrong admin token is refused without being repeated', async (t) => {
  t.equal(optionsOf([], { MILLRACE_ADMIN_TOKEN: 'p.abc-DEF_123' }).adminToken, 'p.abc-DEF_123')
  t.same(problemsOf([], { MILLRACE_ADMIN_TOKEN: "it's secret" }), [
    'MILLRACE_ADMIN_TOKEN must be 8 to 512 letters, digits and characters of -._~+/=.',
  ])
})

t.test('a token in a wrong place of the command line is not repeated', async (t) => {
  const wrong = ['--show-token', 's3cr3t-t0ken']
  t.same(problemsOf(wrong, {}), ['A word of 12 characters is not an option; options look like --port 7181.'])
  for (const flags of [
    ['s3cr3t-t0ken'],
    ['--admin-tokne', 's3cr3t-t0ken'],
    ['--admin-token', '', 's3cr3t-t0ken'],
    ['--admin-token=s3cr3t t0ken'],
    ['--', 's3cr3t-t0ken'],
    ['--port', '--admin-token=s3cr3t-t0ken'],
    ['--http2', 's3cr3t-t0ken'],
    ['serve', 's3cr3t-t0ken'],
  ])
    t.notMatch(problemsOf(flags, {}).join(), /s3cr3t/, flags.join(' '))
})

t.test('every mistake is told at once', async (t) => {
  t.same(problemsOf(['--prot', '1', 'serve', '--workers', '0', '--host'], { MILLRACE_PORT: 'x' }), [
    '--prot is no option (did you mean --port?); --help lists them.',
    '"serve" is not an option; options look like --port 7181.',
    '--host has no value; write --host=<value>.',
    'MILLRACE_PORT is "x", but must be a whole number.',
    '--workers is 0, but must be from 1 to 64.',
  ])
})

t.test('a switch with a word behind it is told what to write instead', async (t) => {
  const off = '--http2 takes no value behind a space; leave it out to turn it off, or write --http2=false.'
  for (const word of ['true', 'TRUE', 'yes', 'on', '1']) {
    const on = '--http2 takes no value behind a space; write --http2 alone, or write --http2=true.'
    t.same(problemsOf(['--http2', word]), [on], word)
  }
  for (const word of ['false', 'no', 'off', '0']) t.same(problemsOf(['--http2', word]), [off], word)
  t.same(problemsOf(['--http2', '--port', '1', 'true']), ['"true" is not an option; options look like --port 7181.'])
  t.same(problemsOf(['--http2', 'maybe']), ['"maybe" is not an option; options look like --port 7181.'])
  t.same(problemsOf(['--http2=maybe']), ['--http2 is "maybe", but must be true or false.'])
  t.same(problemsOf(['--no-http2']), [
    '--no-http2 is no option; to turn --http2 off, leave it out, or write --http2=false.',
  ])
  for (const [flag, isOn] of [
    ['--http2', true],
    ['--http2=yes', true],
    ['--http2=false', false],
  ] as const) {
    t.match(read([flag]), { kind: 'options', options: { http2: isOn } }, flag)
  }
})

t.test('an option is no value of the one before it', async (t) => {
  t.same(problemsOf(['--data-dir', '--http2']), [
    '--data-dir has no value, as --http2 is an option; write --data-dir=<value>.',
  ])
  t.same(problemsOf(['--port', '--host=::1']), ['--port has no value, as --host is an option; write --port=<value>.'])
  t.match(read(['--data-dir=--http2']), { kind: 'options', options: { dataDir: '--http2' } })
})

t.test('an unknown variable with our prefix is a warning, and other variables are nobody’s business', async (t) => {
  const reading = read([], { MILLRACE_PROT: '1', PATH: '/bin', MILLRACE_PORT: '1' })
  t.match(reading, { kind: 'options', options: { port: 1 } })
  t.same(reading.kind === 'options' && reading.warnings, [
    'The environment variable MILLRACE_PROT is not an option and was ignored (did you mean MILLRACE_PORT?); --help lists them.',
  ])
})

t.test('a name that is nearly one is told with the one that was meant, and a strange one is not', async (t) => {
  const flagHint = (flag: string) => problemsOf([flag, '1'])[0]
  t.match(flagHint('--prt'), '(did you mean --port?)')
  t.match(flagHint('--datadir'), '(did you mean --data-dir?)')
  t.match(flagHint('--data_dir'), '(did you mean --data-dir?)')
  t.match(flagHint('--dtaa-dir'), '(did you mean --data-dir?)')
  t.match(flagHint('--Port'), '(did you mean --port?)')
  t.match(flagHint('--hlep'), '(did you mean --help?)')
  t.match(flagHint('--show-tokens'), '(did you mean --show-token?)')
  t.equal(flagHint('--clickhouse'), '--clickhouse is no option; --help lists them.')
  t.equal(flagHint('--x'), '--x is no option; --help lists them.')
  t.equal(flagHint(`--${'y'.repeat(5_000)}`)?.length, '--is no option; --help lists them.'.length + 100)
  t.same(problemsOf(['--log-level', 'eror']), [
    '--log-level is "eror", but must be one of trace, debug, info, warn, error, fatal, silent (did you mean error?).',
  ])
})

t.test('unknown variables are told with the nearest one, and a hundred of them are not told one by one', async (t) => {
  const warningsOf = (environment: Record<string, string>) => {
    const reading = read([], environment)
    return reading.kind === 'options' ? reading.warnings : []
  }
  t.match(warningsOf({ MILLRACE_DATADIR: 'secret' }), [/MILLRACE_DATADIR .*\(did you mean MILLRACE_DATA_DIR\?\)/])
  t.match(warningsOf({ millrace_port: '1' }), [/millrace_port .*\(did you mean MILLRACE_PORT\?\)/])
  t.match(warningsOf({ MILLRACE_LOGLEVEL: '1' }), [/MILLRACE_LOGLEVEL .*\(did you mean MILLRACE_LOG_LEVEL\?\)/])
  t.match(warningsOf({ MILLRACE_PORT_7181_TCP_ADDR: '1' }), [
    /MILLRACE_PORT_7181_TCP_ADDR is not an option and was ignored; /,
  ])
  t.notMatch(warningsOf({ MILLRACE_DATADIR: 'a-value' }).join(), 'a-value')
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`MILLRACE_X_${index}`, '1']))
  t.equal(warningsOf(many).length, 21)
  t.match(warningsOf(many).at(-1), /^80 further environment variables/)
})

t.test('a switch is off, on by its flag alone, and says true or false otherwise', async (t) => {
  t.equal(optionsOf([]).showToken, false)
  t.equal(optionsOf(['--show-token']).showToken, true)
  t.equal(optionsOf(['--show-token', '--port', '1']).port, 1)
  t.equal(optionsOf(['--show-token=false']).showToken, false)
  t.equal(optionsOf([], { MILLRACE_SHOW_TOKEN: '1' }).showToken, true)
  t.equal(optionsOf(['--show-token=no'], { MILLRACE_SHOW_TOKEN: 'true' }).showToken, false)
  t.same(problemsOf([], { MILLRACE_SHOW_TOKEN: 'maybe' }), [
    'MILLRACE_SHOW_TOKEN is "maybe", but must be true or false.',
  ])
})

t.test('help and version are asked for by flag, also beside mistakes', async (t) => {
  t.same(read(['--help']), { kind: 'help' })
  t.same(read(['-h', '--port', 'x']), { kind: 'help' })
  t.same(read(['--version']), { kind: 'version' })
  t.same(read(['-v']), { kind: 'version' })
})

t.test('help tells flag, environment name, sentence and default of every option', async (t) => {
  const help = helpText()
  for (const key of optionKeys) {
    t.ok(help.includes(`--${flagName(key)} `), flagName(key))
    t.ok(help.includes(environmentName(key)), environmentName(key))
    t.ok(help.includes(optionTable[key].sentence), `the sentence of ${key}`)
    t.match(optionTable[key].sentence, /^[A-Z].*\.$/, `the sentence of ${key} is one`)
  }
  t.ok(help.includes('Default: 8 MiB'))
  t.ok(help.includes('Default: 2 per worker'))
})
