import type { Answer, Call, TestService } from './test-service.ts'

/** What the tests read of a job. */
export interface ShownJob {
  readonly id: string
  readonly status: string
  readonly error?: string
  readonly errors?: readonly string[]
  readonly rows_deleted?: number | null
  readonly queries?: readonly { readonly status: string }[]
  readonly statistics?: { readonly row_count: number | null; readonly bytes: number } | null
  readonly is_cancellable: boolean
}

/** The id of the job that a request was answered with. */
export function jobIdOf({ status, json, text }: Answer): string {
  if (status !== 200) throw new Error(`no job was made: ${status} ${text}`)
  // The shape of the answer is what other tests check.
  return (json as { readonly job_id: string }).job_id
}

export async function jobOf(service: TestService, id: string, call: Call = {}): Promise<ShownJob> {
  const { status, json, text } = await service.call('GET', `/v0/jobs/${id}`, call)
  if (status !== 200) throw new Error(`the job ${id} answered ${status}: ${text}`)
  // As above.
  return json as ShownJob
}

/** The job once it has ended. */
export async function endedJob(service: TestService, id: string, call: Call = {}): Promise<ShownJob> {
  // It ends with the job.
  await service.call('GET', `/v0/jobs/${id}?progress=true`, call)
  return await jobOf(service, id, call)
}

/** Asks for a delete of rows as a form does, and waits for its end. */
export async function deleteRows(service: TestService, name: string, condition: string): Promise<ShownJob> {
  const body = new URLSearchParams({ delete_condition: condition }).toString()
  const answer = await service.call('POST', `/v0/datasources/${name}/delete`, { body })
  return await endedJob(service, jobIdOf(answer))
}
