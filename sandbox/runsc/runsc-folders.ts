import { homedir } from "node:os";
import { join } from "node:path";

/** The folders of this user's images and snapshots. Those of root belong to the machine, and everybody may use its images. */
export function runscFolders(
  { XDG_DATA_HOME, XDG_CACHE_HOME, HOME }: Readonly<Record<string, string | undefined>> = process.env,
): {
  images: string;
  snapshots: string;
  shared: string;
} {
  const shared = "/var/lib/ptc/images";
  if (process.getuid?.() === 0) return { images: shared, snapshots: "/var/cache/ptc/snapshots", shared };
  const home = HOME || homedir();
  return {
    images: join(XDG_DATA_HOME || join(home, ".local/share"), "ptc/images"),
    snapshots: join(XDG_CACHE_HOME || join(home, ".cache"), "ptc/snapshots"),
    shared,
  };
}
