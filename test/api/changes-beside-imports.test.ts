// Changes of a data source beside each other while an import by URL into it is unfinished.

import t from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import type { Answer, TestService } from '../support/api/test-service.ts'
import { heldFile, ndjsonOf, openUrlService, testJsonSchema, testRows, until } from '../support/imports/url-imports.ts'

const rounds = 3

async function changedBesideEachOther(service: TestService, round: number): Promise<readonly Answer[]> {
  const columns = Array.from({ length: round }, (_, index) => `, c${index} Nullable(Int8) \`json:$.c${index}\``)
  const alter = new URLSearchParams({ schema: testJsonSchema + columns.join('') })
  const change = (path: string): Promise<Answer> => service.call('POST', `/v0/datasources/a/${path}`)
  return await Promise.all([
    change('truncate'),
    change('delete?delete_condition=id%3D2'),
    service.call('POST', '/v0/datasources?mode=replace&name=a&format=ndjson', { body: '{"id":2,"name":"x"}\n' }),
    change('delete?delete_condition=id%3D3'),
    change('truncate'),
    change(`alter?${alter}`),
  ])
}

t.test('truncate, replace, alter and delete beside each other, beside an import by URL, are no fault', async (t) => {
  const { service, files, start } = await openUrlService(t, { urlImportsMax: 1 })
  const content = ndjsonOf(testRows(3_000))
  files.set('/rows.ndjson', heldFile(content, content.length / 2, { isOpen: false }))
  for (const name of ['a', 'b']) await service.create(name, testJsonSchema)
  const working = jobIdOf(await start({ name: 'b', mode: 'append' }, '/rows.ndjson'))
  await until(service, working, ({ status }) => status === 'working')
  // It waits until the test ends, and no change waits for it.
  jobIdOf(await start({ name: 'a', mode: 'append' }, '/rows.ndjson'))
  for (let round = 1; round <= rounds; round += 1) {
    for (const answer of await changedBesideEachOther(service, round)) {
      if (answer.status === 409) t.match(answer.text, /Data Source .* is being/)
      else t.ok([200, 205].includes(answer.status), answer.text)
      const { job_id: deleteId } = { job_id: undefined, ...(answer.json as { readonly job?: object }) }
      if (deleteId !== undefined) t.match(await endedJob(service, deleteId), { status: 'done' }, 'it is carried out')
    }
  }
  t.same(
    service.log.entries.filter(({ level }) => level === 'error'),
    [],
  )
})
