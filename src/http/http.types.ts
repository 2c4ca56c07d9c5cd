import type { Access, Caller } from '../access/access.ts'
import type { JwtIssuer } from '../access/jwt-issuer.ts'
import type { ScopeBinder } from '../access/scopes/scope-binder.ts'
import type { Tokens } from '../access/tokens/token.types.ts'
import type { Warrant } from '../access/warrant.types.ts'
import type { Variables } from '../catalog/variable.types.ts'
import type { ClusterControl } from '../cluster/cluster-control.types.ts'
import type { DataSources } from '../datasources/datasources.types.ts'
import type { PendingReplaces } from '../datasources/replace/pending-replaces.ts'
import type { Imports } from '../imports/imports.types.ts'
import type { UrlImports } from '../imports/url-jobs/url-import.types.ts'
import type { Ingest } from '../ingest/ingest.types.ts'
import type { JobFiles } from '../jobs/job-files.ts'
import type { Jobs } from '../jobs/jobs.types.ts'
import type { LimitBook } from '../limits/limit-book.ts'
import type { LimitHits } from '../limits/limit-hits.ts'
import type { Rates } from '../limits/rates.ts'
import type { StorageLimit } from '../limits/storage-limit.ts'
import type { ViewsBehind } from '../materialize/behind/views-behind.ts'
import type { Populates } from '../materialize/populate/populate.types.ts'
import type { Repairs } from '../materialize/verify/repair.types.ts'
import type { Verifies } from '../materialize/verify/verify.types.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Recorder } from '../metrics/recorder.ts'
import type { ServiceState } from '../metrics/service-state.types.ts'
import type { Logger } from '../observe/logger.ts'
import type { SpanQueue } from '../observe/traces/span-queue.ts'
import type { WorkRecorder } from '../observe/work-recorder.types.ts'
import type { EndpointDescriptions } from '../pipes/endpoint-descriptions.ts'
import type { Pipes } from '../pipes/pipes.types.ts'
import type { Query } from '../query/query.types.ts'
import type { QueryJobs } from '../query/query-job.ts'
import type { Receipts } from '../receipts/receipts.ts'
import type { DiskReports } from '../shared/disk-fault.ts'
import type { ApiError } from '../shared/errors/errors.ts'
import type { LimitName } from '../shared/limit-names.ts'
import type { BodyBudget } from './request/body-budget.ts'
import type { BodyRateRules } from './request/body-rate.ts'
import type { UploadLimits } from './request/upload-bounds.ts'
import type { AnswerHeaderOptions } from './server/answer-headers.ts'
import type { OpenExchange } from './server/connections.ts'
import type { HttpServerOptions } from './server/http-server.ts'
import type { ProxyOptions } from './server/proxies.ts'
import type { Asked } from './server/request-records.ts'
import type { RequestTrace, TraceOptions } from './server/request-traces.ts'
import type { RouteNeed } from './server/route-need.ts'

/** What the routes are given: the open modules and what they share. */
export interface HttpDeps {
  readonly access: Access
  readonly tokens: Omit<Tokens, 'close'>
  readonly scopeBinder: Pick<ScopeBinder, 'bind'>
  readonly jwtIssuer: Pick<JwtIssuer, 'issue'>
  readonly dataSources: DataSources
  readonly pipes: Pipes
  /** Views that lack blocks. */
  readonly behind: Pick<ViewsBehind, 'catchUp' | 'into' | 'of'>
  readonly populates: Pick<Populates, 'add' | 'plan'>
  readonly verifies: Verifies
  readonly repairs: Repairs
  readonly endpointDescriptions: Pick<EndpointDescriptions, 'describe' | 'describeAll'>
  readonly imports: Imports
  readonly urlImports: UrlImports
  readonly jobs: Pick<Jobs, 'add' | 'find' | 'list' | 'cancel' | 'watch'>
  readonly jobFiles: Pick<JobFiles, 'has' | 'open' | 'remove'>
  readonly pendingReplaces: PendingReplaces
  readonly ingest: Ingest
  readonly query: Query
  /** Which endpoints take fewer requests at once, as they fail under pressure. */
  readonly clusterControl: ClusterControl
  readonly queryJobs: Pick<QueryJobs<Warrant>, 'orderOf'>
  readonly variables: Variables
  /** What was acknowledged, as texts, and who waits for it. */
  readonly receipts: Pick<Receipts, 'read' | 'textOf' | 'textOfImport' | 'textOfJob' | 'untilQueryable'>
  readonly logger: Logger
  /** Where requests are counted; undefined where they are not. */
  readonly recorder: Recorder | undefined
  /** What is told at `/metrics`; null where nothing is counted. */
  readonly metrics: Pick<Metrics, 'contentType' | 'text'> | null
  /** What is limited, and how much of it is used. */
  readonly limitBook: LimitBook
  /** How many requests of some kinds may come. */
  readonly rates: Omit<Rates, 'close' | 'start'>
  /** Whether there is room for more rows; null where nobody is refused for it. */
  readonly storageLimit: Pick<StorageLimit, 'refusal'> | null
  /** What the service is now. */
  readonly state: () => ServiceState
  /** Where traces of requests go; null where they are not sent. */
  readonly spans: Pick<SpanQueue, 'add'> | null
  /** Is told of each refusal by a limit. */
  readonly limitHits: Pick<LimitHits, 'tell'>
  /** Takes what becomes rows of service data sources. */
  readonly workRecorder: WorkRecorder
  /** Whether the disk takes anything, and who is told that it does not. */
  readonly disk: DiskReports & { readonly reason: string | null; readonly lostReason: string | null }
  /** Why the engine takes neither queries nor rows, as a clause; null while it does. */
  readonly engineFault: () => string | null
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Limits of requests. Every one is a maximum that a test reaches. */
export interface HttpOptions
  extends HttpServerOptions,
    BodyRateRules,
    ProxyOptions,
    AnswerHeaderOptions,
    TraceOptions,
    UploadLimits {
  /** Largest body of `/v0/events`, as sent and again when unpacked. */
  readonly eventsBodyBytesMax: number
  /** Bytes of bodies that may be on their way in, or wait, at once: events, forms and queries together. */
  readonly bodiesBytesMax: number
  /** Largest form, also around a query, and all text fields of a multipart form together. */
  readonly formBytesMax: number
  /** Silence in the middle of a body after which the request fails; 0 waits for ever. */
  readonly connectionIdleMsMax: number
  /** Who may read `/metrics` without a token: addresses and networks, separated by commas. */
  readonly metricsAddresses: string
  /** Time that a close may take; imports and bodies that take a tenth of it are ended. */
  readonly closeTimeoutMs: number
}

/** What bounds a body that is read as a whole, such as a form. */
export interface FormLimits extends Pick<HttpOptions, 'formBytesMax'> {
  /** The one budget of all bodies. */
  readonly bodies: BodyBudget
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Who may do what; there from `addAuthorization` on. */
    readonly access: Access
    /** Tells of a refusal by a limit that is not answered by `sendError`, which tells itself; there from `addLimitHits` on. */
    readonly tellLimitHit: (request: FastifyRequest, error: ApiError) => void
    /** Whether what requests ask is told; there from `addRequestRecords` on. */
    readonly tellsRequests: boolean
  }
  interface FastifyRequest {
    /** Who asks; null until the token is judged. */
    caller: Caller | null
    /** Whose query it is, for the service data sources; null for none. */
    asked: Asked | null
    /** Whether the right of the caller to what the request names in its body or SQL has been judged. */
    isJudged: boolean
    /** What its body names, as it was judged last; null before. */
    judgedName: string | null
    /** The token of the request, and the versions of names and tokens by which it and the head were judged; null where they were not. */
    judged: { readonly token: string; readonly version: number; readonly headVersion: number } | null
    /** The header Content-Type as the client sent it. */
    sentContentType: string | undefined
    /** What its connection is to know of it; null until its first hook has run. */
    exchange: OpenExchange | null
    /** The trace that it belongs to; null where it is in none, and until its first hooks have run. */
    trace: RequestTrace | null
    /** The names of the parameters, those of the body among them once it is read; null before. */
    sentParameters: (() => Iterable<string>) | null
  }
  interface FastifyContextConfig {
    /** The limit of its bodies, where it is another one than that of forms and files. */
    readonly bodyLimit?: LimitName
    /** What the route needs of its caller. A route that does not say so is refused when it is registered. */
    readonly needs?: RouteNeed
    /** The token may also be a field in the first bytes of the body. */
    readonly mayTakeTokenFromBody?: boolean
    /** A parameter of the URL that older clients send the token in. */
    readonly olderTokenParameter?: string
    /** Requests that are the daily work: those that are answered are logged at `debug`. */
    readonly isFrequent?: boolean
    /** Gives the data of a pipe, which the parameter `pipe` of the path names: counted by pipe too. */
    readonly isEndpoint?: boolean
    /** Who needs no token for it. */
    readonly isOpenTo?: (request: FastifyRequest) => boolean
    /** A token of another workspace is answered with 404: its sender has the wrong address. */
    readonly isSentToAWorkspace?: boolean
  }
}
