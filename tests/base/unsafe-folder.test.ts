import { expect, test } from "vitest";
import { type FolderStatus, whyFolderIsUnsafe } from "../../base/unsafe-folder.ts";

const ME = 1_000;

test.each<[named: RegExp | undefined, status: FolderStatus]>([
  [undefined, { isLink: false, mode: 0o40755, uid: ME }],
  [undefined, { isLink: false, mode: 0o41777, uid: 0 }],
  [undefined, { isLink: false, mode: 0o40755, uid: 1_001 }],
  [undefined, { isLink: true, mode: 0o40700, uid: ME }],
  [undefined, { isLink: true, mode: 0o40755, uid: 0 }],
  [/link to another user's/, { isLink: true, mode: 0o40755, uid: 1_001 }],
  [/written by everybody/, { isLink: false, mode: 0o40777, uid: ME }],
])("a folder is refused with %s: %j", (named, status) => {
  const problem = whyFolderIsUnsafe("/folder", status, ME);
  if (named === undefined) expect(problem).toBeUndefined();
  else expect(problem?.what).toMatch(named);
});
