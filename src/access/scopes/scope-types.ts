// The types of scopes, as they are called and as they are spelled: the plural of the newer edition and the singular of the
// older one mean the same.

/** What a scope lets its token do, in the spelling of the newer edition. */
export type ScopeType =
  | 'ADMIN'
  | 'TOKENS'
  | 'IMPORT'
  | 'WORKSPACE:READ_ALL'
  | 'ORG_DATASOURCES:READ'
  | 'DATASOURCES:CREATE'
  | 'DATASOURCES:APPEND'
  | 'DATASOURCES:READ'
  | 'DATASOURCES:DROP'
  | 'PIPES:CREATE'
  | 'PIPES:READ'
  | 'PIPES:DROP'
  | 'DROP:NAME'

/**
 * What its holder reads of pipes reaches further than its resource: to all that the pipes read. Whoever writes a pipe has what it
 * reads put elsewhere.
 */
export const pipeReadTypes: ReadonlySet<ScopeType> = new Set(['PIPES:READ', 'PIPES:CREATE', 'WORKSPACE:READ_ALL'])

/** What a scope can be restricted to. */
export type ResourceKind = 'datasource' | 'pipe'

interface ScopeTypeRule {
  /** The kinds of resources that the scope can name; empty for one that is about the whole workspace. */
  readonly kinds: readonly ResourceKind[]
  /** Whether it can carry a condition on rows. */
  readonly mayFilter: boolean
  /** Whether it may name what does not exist yet. */
  readonly mayNameFuture: boolean
  /** Other spellings. */
  readonly spellings: readonly string[]
  /** For the documentation. */
  readonly meaning: string
}

const ofWorkspace = { kinds: [], mayFilter: false, mayNameFuture: false, spellings: [] } as const
const ofDataSource = { kinds: ['datasource'], mayFilter: false, mayNameFuture: false } as const
const ofPipe = { kinds: ['pipe'], mayFilter: false, mayNameFuture: false } as const

/** Each type with its rule. The documentation of scopes is made from this table. */
export const scopeTypes: Readonly<Record<ScopeType, ScopeTypeRule>> = {
  ADMIN: { ...ofWorkspace, meaning: 'Everything.' },
  TOKENS: { ...ofWorkspace, meaning: 'Lists and changes tokens that are no stronger than itself.' },
  IMPORT: { ...ofWorkspace, meaning: 'Deletes nodes of pipes.' },
  'WORKSPACE:READ_ALL': { ...ofWorkspace, meaning: 'Reads every data source and pipe, and their definitions.' },
  'ORG_DATASOURCES:READ': { ...ofWorkspace, meaning: 'Reads the service data sources of the organization.' },
  'DATASOURCES:CREATE': {
    ...ofDataSource,
    mayNameFuture: true,
    spellings: ['DATASOURCE:CREATE'],
    meaning: 'Creates, appends, replaces, analyzes, changes, truncates, deletes rows, and replays the quarantine.',
  },
  'DATASOURCES:APPEND': { ...ofDataSource, spellings: ['DATASOURCE:APPEND'], meaning: 'Appends rows.' },
  'DATASOURCES:READ': {
    ...ofDataSource,
    mayFilter: true,
    spellings: ['DATASOURCE:READ'],
    meaning: 'Reads rows and definition; the quarantine too, unless rows are filtered.',
  },
  'DATASOURCES:DROP': { ...ofDataSource, spellings: ['DATASOURCE:DROP'], meaning: 'Drops data sources.' },
  'PIPES:CREATE': {
    ...ofPipe,
    mayNameFuture: true,
    spellings: ['PIPE:CREATE'],
    meaning: 'Creates, changes and publishes pipes over what the token may read.',
  },
  'PIPES:READ': {
    ...ofPipe,
    mayFilter: true,
    spellings: ['PIPE:READ'],
    meaning: 'Reads the endpoint and the definition; what the pipe reads needs no scope.',
  },
  'PIPES:DROP': { ...ofPipe, spellings: ['PIPE:DROP'], meaning: 'Drops pipes.' },
  'DROP:NAME': {
    kinds: ['datasource', 'pipe'],
    mayFilter: false,
    mayNameFuture: false,
    spellings: [],
    meaning:
      'Drops data sources and pipes. `DROP:<name>` is the same for one of them, also for one that is called `NAME`.',
  },
}

const typesBySpelling: ReadonlyMap<string, ScopeType> = new Map(
  // Object.keys gives plain strings; the table has these keys and no others.
  (Object.keys(scopeTypes) as ScopeType[]).flatMap((type) =>
    [type, ...scopeTypes[type].spellings].map((spelling) => [spelling, type] as const),
  ),
)

/**
 * The type that a spelling stands for, in capitals or not; undefined for none. `DROP:name` is none: it drops what is called so, and
 * not everything.
 */
export function scopeTypeOf(spelling: string): ScopeType | undefined {
  const type = typesBySpelling.get(spelling.toUpperCase())
  return type === 'DROP:NAME' && !spelling.endsWith(':NAME') ? undefined : type
}

/** All spellings, for messages. */
export const scopeSpellings: readonly string[] = [...typesBySpelling.keys()]
