const WRITABLE_BY_ALL = 0o002;
const STICKY = 0o1000;
const ROOT = 0;

/** What the file system says of a folder that a link may lead to. */
export interface FolderStatus {
  /** The name that it was found by is a link's. */
  isLink: boolean;
  mode: number;
  /** Its owner. */
  uid: number;
}

/**
 * Why a folder is no place for a private file, and what to do; `undefined` where it is one. A link to a folder is followed
 * where that folder is its user's own: people keep things on another disk.
 *
 * @param me the number of the user who asks; `undefined` on systems that do not number users.
 */
export function whyFolderIsUnsafe(
  folder: string,
  { isLink, mode, uid }: FolderStatus,
  me: number | undefined,
): { what: string; advice: string } | undefined {
  if ((mode & WRITABLE_BY_ALL) !== 0 && (mode & STICKY) === 0) {
    return { what: "may be written by everybody", advice: `chmod 700 ${folder}` };
  }
  if (isLink && me !== undefined && uid !== me && uid !== ROOT) {
    return { what: "is a link to another user's folder", advice: "remove the link" };
  }
  return undefined;
}
