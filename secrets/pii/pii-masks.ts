import { PiiFinder } from "./pii-finder.ts";
import type { PiiKind, PiiSettings } from "./pii-kinds.ts";
import { PiiMask } from "./pii-mask.ts";

/** Makes masks that share what it takes to recognise personal data. */
export class PiiMasks {
  readonly #finder: PiiFinder;

  constructor(settings: PiiSettings) {
    this.#finder = new PiiFinder(settings);
  }

  /** @param isShown whether a kind is left as it is just now; none is, without it. */
  mask(isShown?: (kind: PiiKind) => boolean): PiiMask {
    return new PiiMask(this.#finder, isShown);
  }
}
