import type { OpenedStore } from '../../../src/store/embedded/embedded-store.ts'
import type { Statements } from '../../../src/store/statements.types.ts'
import type { Store } from '../../../src/store/store.types.ts'
import { storeVerbs } from './store-verbs.ts'

/** A store that runs all statements but those that match, which fail. */
export function faultyStore(store: OpenedStore, pattern: RegExp, fault: Error): Store {
  const command: Statements['command'] = async (sql) => {
    if (pattern.test(sql)) throw fault
    await store.command(sql)
  }
  const statements: Statements = {
    get definitionVersion() {
      return store.definitionVersion
    },
    command,
    rows: (sql) => store.rows(sql),
  }
  return {
    ...storeVerbs(statements, store),
    get definitionVersion() {
      return store.definitionVersion
    },
    parquet: store.parquet,
    select: (query) => store.select(query),
    queryTree: (sql, signal) => store.queryTree(sql, signal),
    append: (append) => store.append(append),
    fill: (fill) => store.fill(fill),
    untilAppended: (names) => store.untilAppended(names),
    partitionsByRow: (append, tag) => store.partitionsByRow(append, tag),
    writeRows: (append) => store.writeRows(append),
    copy: (copy) => store.copy(copy),
    copyQuery: (copy) => store.copyQuery(copy),
    exchange: (pairs) => store.exchange(pairs),
    newPartPath: () => store.newPartPath(),
    discard: (parts) => store.discard(parts),
    sync: () => store.sync(),
    close: () => store.close(),
  }
}
