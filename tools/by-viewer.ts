import { RecentlyUsed } from "../base/recently-used.ts";
import type { Viewer } from "../broker/policy/authorizer.ts";

const MAX_VIEWERS = 64;

/** One value for each viewer. That of a viewer who has not been here for long may be made again. */
export class ByViewer<Value> {
  readonly #make: (viewer: Viewer) => Value;
  readonly #values = new RecentlyUsed<string, { value: Value }>({ maxEntries: MAX_VIEWERS });

  constructor(make: (viewer: Viewer) => Value) {
    this.#make = make;
  }

  of(viewer: Viewer): Value {
    const key = JSON.stringify([viewer.principal, viewer.groups, viewer.session]);
    const known = this.#values.get(key);
    if (known !== undefined) return known.value;
    const value = this.#make(viewer);
    this.#values.set(key, { value });
    return value;
  }
}
