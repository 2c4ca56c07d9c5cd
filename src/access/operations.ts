/**
 * What a caller can be allowed to do, one name for each thing that a token may have the right to do alone: scopes are judged by
 * these, routes declare them. Before the colon stands what it is done to.
 *
 * - `describe` is the definition, `read` the rows.
 * - `datasource:create` also stands for a data source that an append makes, `datasource:analyze` for a look at rows that are not
 *   kept.
 * - Nodes belong to their pipe: `pipe:change` adds and edits them too.
 * - `sql:read` is the right to ask; which names the query may read is a matter of the read scope.
 */
export type Operation =
  | 'datasource:list'
  | 'datasource:describe'
  | 'datasource:create'
  | 'datasource:append'
  | 'datasource:replace'
  | 'datasource:analyze'
  | 'datasource:change'
  | 'datasource:truncate'
  | 'datasource:drop'
  | 'quarantine:read'
  | 'quarantine:replay'
  | 'pipe:list'
  | 'pipe:describe'
  | 'pipe:read'
  | 'pipe:explain'
  | 'pipe:create'
  | 'pipe:change'
  | 'pipe:publish'
  | 'pipe:drop'
  | 'node:drop'
  | 'sql:read'
  | 'variable:read'
  | 'variable:change'
  | 'project:read'
