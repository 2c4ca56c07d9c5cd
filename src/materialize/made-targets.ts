import type { DataSourceId } from '../catalog/data-source.types.ts'
import { findDataSourceId } from '../catalog/data-source-id.ts'
import type { Logger } from '../observe/logger.ts'

export interface MadeTargetsDeps {
  readonly settings: {
    read(name: string): string | undefined
    write(name: string, value: string): Promise<void>
  }
  readonly logger: Pick<Logger, 'warn'>
}

const settingName = 'made-targets'

/**
 * The data sources that are being made for views of which the catalog has not heard: noted before they are made, so that a start can
 * take back what a kill has left. Precondition: one call comes after the other.
 */
export class MadeTargets {
  readonly #deps: MadeTargetsDeps
  readonly #ids: Set<DataSourceId>

  constructor(deps: MadeTargetsDeps) {
    this.#deps = deps
    const text = deps.settings.read(settingName) ?? ''
    this.#ids = new Set(text.split(' ').flatMap((id) => findDataSourceId(id) ?? []))
  }

  /** Those that an earlier process has left. */
  get left(): readonly DataSourceId[] {
    return [...this.#ids]
  }

  /** On disk when it resolves. @throws DISK_UNAVAILABLE (503) */
  async note(id: DataSourceId): Promise<void> {
    this.#ids.add(id)
    await this.#write()
  }

  /** It has its view, or is gone. What the disk refuses now is looked at by the next start. Never rejects. */
  async forget(id: DataSourceId): Promise<void> {
    if (!this.#ids.delete(id)) return
    try {
      await this.#write()
    } catch (err) {
      this.#deps.logger.warn({ err, id }, 'A Data Source that was made for a view is still noted as unfinished.')
    }
  }

  #write(): Promise<void> {
    return this.#deps.settings.write(settingName, [...this.#ids].join(' '))
  }
}
