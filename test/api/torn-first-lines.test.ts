import { gzipSync } from 'node:zlib'
import t from 'tap'
import { openTestService, severalWorkers } from '../support/api/test-service.ts'

const service = await openTestService(t, severalWorkers)

t.test(
  'a CSV whose first line opens a quote that is never closed makes a data source of the rows behind it',
  async (t) => {
    const rows = '1,x\n2,y\n3,z\n'
    const lines = ['"n,s', 'n,"s', '"', '"1,a', '1,"a', 'n,s,"', '"a "b', 'é,"ü']
    for (const [index, line] of lines.entries()) {
      for (const isPacked of [false, true]) {
        const name = `torn${index}${isPacked ? 'p' : ''}`
        const body = isPacked ? gzipSync(`${line}\n${rows}`) : `${line}\n${rows}`
        const headers = isPacked ? { 'content-encoding': 'gzip' } : {}
        const created = await service.call('POST', `/v0/datasources?name=${name}&format=csv`, { body, headers })
        t.match(created, { status: 200, json: { imported_rows: 3, invalid_lines: 1 } }, line)
        t.same(
          await service.rows(`SELECT * FROM ${name} ORDER BY 1`),
          [
            ['1', 'x'],
            ['2', 'y'],
            ['3', 'z'],
          ],
          line,
        )
        t.equal(await service.count(`${name}_quarantine`), 1, line)
      }
    }
  },
)
