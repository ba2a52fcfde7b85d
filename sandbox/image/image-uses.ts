/**
 * When this user's projects last used or built each image that is tagged by content: one empty file per image, whose date counts.
 * Images that nobody has used for long are removed (`pruneImages`). What another user has used is not known here, so an image
 * without a date stays.
 */

import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../base/faults.ts";
import type { ImageStore, ListedImage } from "../sandbox-engine.ts";
import { debianBaseName } from "./debian-base.ts";
import { contentTaggedName } from "./needed-image.ts";

/** How many days an image stays that no project of this user has used or built. */
export const UNUSED_DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** A date is not written again before this, so that a run seldom writes. */
const PRECISION_MS = 60 * 60 * 1_000;

/** The dates, in a folder of this user. */
export class ImageUses {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Notes that an image is used now. Does nothing for images with other names. Never throws: at worst an image is built again. */
  note(reference: string, now = Date.now()): void {
    if (!contentTaggedName.test(reference)) return;
    const last = this.lastUse(reference);
    if (last !== undefined && Math.abs(now - last) < PRECISION_MS) return;
    const path = this.#pathOf(reference);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(path, "");
      utimesSync(path, now / 1_000, now / 1_000);
    } catch {
      // The image then looks unused, and is not removed unless an older date is there.
    }
  }

  /** In milliseconds since 1970; undefined if no use is known. */
  lastUse(reference: string): number | undefined {
    return statSync(this.#pathOf(reference), { throwIfNoEntry: false })?.mtimeMs;
  }

  forget(reference: string): void {
    rmSync(this.#pathOf(reference), { force: true });
  }

  #pathOf(reference: string): string {
    return join(this.#folder, reference.replace(":", "-"));
  }
}

export interface PrunedImages {
  removed: ListedImage[];
  /** Images that stay, although their names are ptc's, and why. */
  kept: { reference: string; why: string }[];
}

export interface PruneRequest {
  store: Pick<ImageStore, "listOwn" | "remove">;
  uses: Pick<ImageUses, "lastUse" | "forget">;
  /** An image without a use for this long is removed. */
  unusedDays: number;
  /** An image that stays in any case. */
  except?: string | undefined;
  now?: number;
}

/**
 * Removes the images that are tagged by content and that no project of this user has used or built for some days, and their bases
 * where no other image is made of them. Images that a container uses stay, and so do images with other names.
 *
 * @throws SandboxError `engine_unreachable`
 */
export async function pruneImages(request: PruneRequest): Promise<PrunedImages> {
  const { store, uses, unusedDays, except, now = Date.now() } = request;
  // Two engines may have an image of the same name, and `remove` removes both.
  const listed = [...new Map((await store.listOwn()).map((image) => [image.reference, image])).values()];
  const pruned: PrunedImages = { removed: [], kept: [] };
  const remove = async (image: ListedImage) => {
    try {
      await store.remove(image.reference);
      uses.forget(image.reference);
      pruned.removed.push(image);
    } catch (error) {
      pruned.kept.push({ reference: image.reference, why: messageOf(error) });
    }
  };
  for (const image of listed) {
    const { reference } = image;
    if (!contentTaggedName.test(reference) || reference === except) continue;
    const last = uses.lastUse(reference);
    if (last === undefined)
      pruned.kept.push({ reference, why: "no use of it by this user is known; another user may need it" });
    else if (now - last > unusedDays * DAY_MS) await remove(image);
  }
  const gone = new Set(pruned.removed);
  const basesOf = (images: readonly ListedImage[]) => new Set(images.map(({ base }) => base));
  const needed = basesOf(listed.filter((image) => !gone.has(image)));
  const orphaned = basesOf([...gone]);
  for (const image of listed)
    if (debianBaseName.test(image.reference) && orphaned.has(image.reference) && !needed.has(image.reference))
      await remove(image);
  return pruned;
}
