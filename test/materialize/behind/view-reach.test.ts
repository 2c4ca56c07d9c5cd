import t from 'tap'
import type { Pipe } from '../../../src/catalog/pipe.types.ts'
import { failedView } from '../../../src/materialize/behind/view-reach.ts'

const [first, second] = ['1', '2'].map((digit) => `v_${digit.repeat(32)}`)
const mirror = `p_${'a'.repeat(32)}_view`
const other = `p_${'b'.repeat(32)}_b2_view`

function pipeOf(id: string | undefined, sourceId: string, targetId: string): Pipe {
  const view = { id, sourceId, targetId, otherIds: [], nodeIds: [], columns: [], select: '' }
  // No more is read of it.
  return { id: `pipe_${id}`, name: 'pipe', nodes: [{ id: 'node', name: 'node', view }] } as unknown as Pipe
}

const pipes = [pipeOf(first, 'source', 'middle'), pipeOf(second, 'middle', 'end')]

/** What the engine says; the innermost view first. */
function message(...names: readonly (string | undefined)[]): string {
  return `Cannot parse${names.map((name) => `: while pushing to view ${name}`).join('')}. (CANNOT_PARSE_TEXT)`
}

t.test('the innermost view on the way of the rows is the one that failed', async (t) => {
  t.match(failedView(message(first), 'source', pipes), { node: { view: { id: first } } })
  t.match(failedView(message(second, first), 'source', pipes), { node: { view: { id: second } } })
  t.equal(failedView(message(second), 'source', pipes), undefined, 'it sees no block of the source itself')
  t.equal(failedView(message(), 'source', pipes), undefined)
})

t.test('one that brings rows to a populate is told with the table that it sees', async (t) => {
  t.same(failedView(message(mirror), 'source', pipes), { mirror, sourceId: 'source' })
  t.same(failedView(message(mirror, first), 'source', pipes), { mirror, sourceId: 'middle' })
  t.same(failedView(message(other, second, first), 'source', pipes), { mirror: other, sourceId: 'end' })
  const quoted = `nothing: while pushing to view ${mirror}: of a text${message(first)}`
  t.match(failedView(quoted, 'source', pipes), { node: { view: { id: first } } }, 'a text says what it likes')
})
