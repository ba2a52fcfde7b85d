const WRITABLE_BY_ALL = 0o002;
const STICKY = 0o1000;
const ROOT = 0;

/** The status of a folder, which may have been reached through a link. */
export interface FolderStatus {
  /** Whether the path is a link to the folder. */
  isLink: boolean;
  mode: number;
  /** The user id of the owner. */
  uid: number;
}

/**
 * Says why a folder is unsafe for a private file, and what to do about it. Returns `undefined` for a safe folder. A link is safe
 * when the folder belongs to the user or to root, because people keep files on other disks.
 *
 * @param me the id of the current user, or `undefined` on systems without user ids.
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
