// Pipes as they lie on disk, each with its nodes in one record, so that a change of both is one change.

import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import { parseDataSourceId } from './data-source-id.ts'
import type {
  NodeId,
  NodeView,
  Pipe,
  PipeNode,
  UnlinkedView,
  ViewBehind,
  ViewBehindFrom,
  ViewBranch,
  ViewRemovals,
} from './pipe.types.ts'
import { parseNodeId, parsePipeId, parseViewId } from './pipe-id.ts'
import {
  checkFormat,
  type Fields,
  readArray,
  readInteger,
  readObject,
  readRecord,
  readString,
  readStringOrNull,
  readStrings,
} from './record-fields.ts'

const recordFormat = 1

export interface PipeEntry {
  readonly pipe: Pipe
  /** Counts the pipes ever created: the order of creation. */
  readonly sequence: number
}

/** The entry as plain JSON. */
export function encodePipe({ pipe, sequence }: PipeEntry): Fields {
  return { format: recordFormat, sequence, ...pipe }
}

/**
 * Reads a record back.
 *
 * @throws CatalogRecordError that names the pipe, and the field that is wrong.
 */
export function decodePipe(id: string, record: unknown): PipeEntry {
  return readRecord(id, record, (fields) => {
    checkFormat(fields, recordFormat)
    return { pipe: readPipe(id, fields), sequence: readInteger(fields, 'sequence') }
  })
}

function readPipe(id: string, fields: Fields): Pipe {
  const nodes = readArray(fields['nodes'], 'nodes').map((node) => readNode(readObject(node, 'node')))
  if (new Set(nodes.map(({ name }) => name)).size < nodes.length) throw new Error('two of its nodes have one name')
  const parentId = readStringOrNull(fields, 'parentId')
  return {
    id: parsePipeId(id),
    name: readString(fields, 'name'),
    description: readString(fields, 'description'),
    nodes,
    endpointId: readEndpoint(readStringOrNull(fields, 'endpointId'), nodes),
    // Earlier releases did not write it.
    ...(typeof fields['publishedAt'] === 'number' ? { publishedAt: readInteger(fields, 'publishedAt') } : {}),
    parentId: parentId === null ? null : parsePipeId(parentId),
    createdAt: readInteger(fields, 'createdAt'),
    updatedAt: readInteger(fields, 'updatedAt'),
  }
}

function readEndpoint(id: string | null, nodes: readonly PipeNode[]): NodeId | null {
  if (id === null) return null
  const node = nodes.find((one) => one.id === id)
  if (node === undefined) throw new Error(`'endpointId' is not the id of one of its nodes`)
  return node.id
}

function readNode(fields: Fields): PipeNode {
  return {
    id: parseNodeId(readString(fields, 'id')),
    name: readString(fields, 'name'),
    description: readString(fields, 'description'),
    sql: readString(fields, 'sql'),
    dependencies: readStrings(fields['dependencies'], 'dependencies'),
    createdAt: readInteger(fields, 'createdAt'),
    updatedAt: readInteger(fields, 'updatedAt'),
    version: readInteger(fields, 'version'),
    // Only nodes that fill a data source have it.
    ...(fields['view'] === undefined ? {} : { view: readView(readObject(fields['view'], 'view')) }),
    // Only those have it that a populate has unlinked.
    ...(fields['unlinked'] === undefined ? {} : { unlinked: readUnlinked(readObject(fields['unlinked'], 'unlinked')) }),
  }
}

function readMore(branch: unknown): ViewBranch {
  return readBranch(readObject(branch, 'more'))
}

function readBranch(fields: Fields): ViewBranch {
  return {
    id: parseViewId(readString(fields, 'id')),
    sourceId: parseDataSourceId(readString(fields, 'sourceId')),
    otherIds: readStrings(fields['otherIds'], 'otherIds').map(parseDataSourceId),
    // It was checked before it was kept.
    select: readString(fields, 'select') as CheckedQuery,
    // Only those have it that did not take some block.
    ...(fields['behind'] === undefined ? {} : { behind: readBehind(readObject(fields['behind'], 'behind')) }),
  }
}

function readUnlinked(fields: Fields): UnlinkedView {
  return { view: readView(readObject(fields['view'], 'view')), unlinkedAt: readInteger(fields, 'unlinkedAt') }
}

function readView(fields: Fields): NodeView {
  const columns = readArray(fields['columns'], 'columns').map((column) => readObject(column, 'column'))
  return {
    ...readBranch(fields),
    targetId: parseDataSourceId(readString(fields, 'targetId')),
    nodeIds: readStrings(fields['nodeIds'], 'nodeIds').map(parseNodeId),
    // Only those have it that read their rows through UNION ALL.
    ...(fields['more'] === undefined ? {} : { more: readArray(fields['more'], 'more').map(readMore) }),
    columns: columns.map((column) => ({ name: readString(column, 'name'), typeText: readString(column, 'typeText') })),
    createdAt: readInteger(fields, 'createdAt'),
    ...(fields['populatedAt'] === undefined ? {} : { populatedAt: readInteger(fields, 'populatedAt') }),
    ...(fields['removals'] === undefined ? {} : { removals: readRemovals(readObject(fields['removals'], 'removals')) }),
  }
}

function readRemovals(fields: Fields): ViewRemovals {
  return {
    kind: readString(fields, 'kind') === 'truncate' ? 'truncate' : 'delete',
    at: readInteger(fields, 'at'),
    partitions: fields['partitions'] === null ? null : readStrings(fields['partitions'], 'partitions'),
  }
}

function readBehindFrom(fields: Fields): ViewBehindFrom {
  return {
    sourceId: parseDataSourceId(readString(fields, 'sourceId')),
    viewIds: readStrings(fields['viewIds'], 'viewIds').map(parseViewId),
  }
}

function readBehind(fields: Fields): ViewBehind {
  return {
    sinceMs: readInteger(fields, 'sinceMs'),
    isParked: fields['isParked'] === true,
    place: fields['place'] === null ? null : readInteger(fields, 'place'),
    ...(fields['importPlace'] === undefined ? {} : { importPlace: readInteger(fields, 'importPlace') }),
    ...(fields['from'] === undefined ? {} : { from: readBehindFrom(readObject(fields['from'], 'from')) }),
    tableBlocks: readInteger(fields, 'tableBlocks'),
    missCount: fields['missCount'] === undefined ? 0 : readInteger(fields, 'missCount'),
    errorName: readString(fields, 'errorName'),
    ...(fields['staleAt'] === undefined ? {} : { staleAt: readInteger(fields, 'staleAt') }),
  }
}
