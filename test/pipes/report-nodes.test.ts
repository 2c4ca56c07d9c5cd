import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { reportNodes } from '../../src/pipes/report-nodes.ts'
import { createNodeFault } from '../../src/query/check-node.ts'
import { TemplateCache } from '../../src/query/template-cache.ts'
import { TestLog } from '../support/api/test-service.ts'
import { TestWorkspace } from '../support/query/test-workspace.ts'

const asked = async (): Promise<never> => {
  throw new Error('the engine is not asked')
}

function open() {
  const workspace = new TestWorkspace()
  workspace.addDataSource('events', 'id UInt32, ts DateTime')
  const options = { database: 'ws_0001', sqlBytesMax: 1000, queryTimeMaxMs: 10_000, resultBytesMax: 1_000_000 }
  const store = { select: asked, queryTree: asked }
  const deps = { store, workspace, findServiceSource: () => undefined, templates: new TemplateCache() }
  return { workspace, nodeFault: createNodeFault(options, { ...deps, serviceScope: adminScope }) }
}

t.test('the start tells of nodes that would be refused now, with their pipes, and of no others', async (t) => {
  const { workspace, nodeFault } = open()
  const pipes = [
    workspace.addPipe('good', {
      plain: 'SELECT id FROM events',
      asked: '% SELECT toStartOfDay(ts, {{String(zone)}}) FROM plain WHERE id = {{UInt32(wanted)}}',
      either: "% SELECT * FROM {{table(name, 'events')}} {% if defined(x) %} WHERE id = {{UInt32(x)}} {% end %}",
    }),
    workspace.addPipe('bad', {
      zone: "SELECT toTimeZone(ts, 'file:/etc/passwd') FROM events",
      good: 'SELECT 1',
      above: 'SELECT * FROM zone',
      file: "SELECT file('x')",
      gone: 'SELECT * FROM gone_source',
      template: '% SELECT {{',
      empty: ' ',
    }),
  ]
  const log = new TestLog()
  await reportNodes({ catalog: { listPipes: () => pipes }, query: { nodeFault }, logger: log })
  t.same(
    log.entries.map(({ level, fields }) => [level, fields['pipe'], fields['node']]),
    ['zone', 'above', 'file', 'gone', 'template', 'empty'].map((node) => ['warn', 'bad', node]),
  )
  t.match(log.entries[0]?.fields, { reason: /Unknown time zone 'file:\/etc\/passwd'/, isEndpoint: false })
  t.match(log.entries[2]?.fields, { reason: /Function 'file' is not allowed/ })
  t.match(log.entries[3]?.fields, { reason: /gone_source/ })
})
