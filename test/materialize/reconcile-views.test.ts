import t from 'tap'
import { parseDataSourceId } from '../../src/catalog/data-source-id.ts'
import type { Pipe, ViewId } from '../../src/catalog/pipe.types.ts'
import { createNodeId, createPipeId, createViewId } from '../../src/catalog/pipe-id.ts'
import { reconcileViews } from '../../src/materialize/reconcile-views.ts'
import { ownQuery } from '../../src/sql/own-query.ts'
import { silentLogger } from '../support/store/test-store.ts'

const sourceId = parseDataSourceId(`t_${'1'.repeat(32)}`)
const targetId = parseDataSourceId(`t_${'2'.repeat(32)}`)

function pipeOf(id: ViewId): Pipe {
  const times = { createdAt: 0, updatedAt: 0 }
  const select = ownQuery('SELECT 1')
  const view = { id, sourceId, targetId, otherIds: [], nodeIds: [], select, columns: [], createdAt: 0 }
  const node = { id: createNodeId(), name: 'n', description: '', sql: '', dependencies: [], version: 0, view, ...times }
  return { id: createPipeId(), name: 'p', description: '', nodes: [node], endpointId: null, parentId: null, ...times }
}

/** An engine with these views, which runs something while it tells their names. */
function engineOf(names: readonly string[], meanwhile: () => void = () => undefined) {
  const views = new Set(names)
  return {
    views,
    create: async ({ name }: { readonly name: string }) => void views.add(name),
    drop: async (name: string) => void views.delete(name),
    sees: async () => true,
    names: async () => {
      const told = [...views]
      meanwhile()
      return told
    },
  }
}

t.test('views that no node knows are dropped, missing ones are made, and those of others are left', async (t) => {
  const [kept, missing, stray] = [createViewId(), createViewId(), createViewId()]
  const engine = engineOf([kept, stray, 'own_view'])
  const pipes = () => [pipeOf(kept), pipeOf(missing)]
  await reconcileViews(engine, { pipes, underWay: new Set(), logger: silentLogger })
  t.same([...engine.views].sort(), [kept, missing, 'own_view'].sort())
})

t.test('a view of which the catalog hears while the engine is asked stays', async (t) => {
  const id = createViewId()
  const pipes: Pipe[] = []
  const underWay = new Set([id])
  const engine = engineOf([id], () => {
    pipes.push(pipeOf(id))
    underWay.delete(id)
  })
  await reconcileViews(engine, { pipes: () => pipes, underWay, logger: silentLogger })
  t.same([...engine.views], [id])
})

t.test('a view that the catalog knows no more when it is made again is dropped again', async (t) => {
  const [old, other] = [createViewId(), createViewId()]
  const pipes = [pipeOf(old)]
  const engine = engineOf([])
  const create = async (view: { readonly name: string }): Promise<void> => {
    await engine.create(view)
    pipes.splice(0, 1, pipeOf(other))
  }
  await reconcileViews({ ...engine, create }, { pipes: () => pipes, underWay: new Set([other]), logger: silentLogger })
  t.same([...engine.views], [])
})
