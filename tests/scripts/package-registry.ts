import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const REPOSITORY = join(import.meta.dirname, "../..");
const TARBALL = "/tarball/";

/** A package registry on this machine. It has the packages of this checkout's lock, as they are installed beside it. */
export interface PackageRegistry {
  url: string;
  close(): void;
}

/** @param paceMs how long each package takes, one after the other; none of them any time without it. */
export async function serveInstalledPackages({ paceMs = 0 } = {}): Promise<PackageRegistry> {
  let last: Promise<unknown> = Promise.resolve();
  const lock = JSON.parse(readFileSync(join(REPOSITORY, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version: string }>;
  };
  const links = mkdtempSync(join(tmpdir(), "ptc-registry-"));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "");
    if (path.startsWith(TARBALL)) {
      const wait = () => (paceMs === 0 ? undefined : delay(paceMs));
      last = last.then(wait).then(() => sendTarball(path.slice(TARBALL.length), links, response));
      return;
    }
    const name = path.slice(1);
    const found = Object.entries(lock.packages).filter(
      ([place]) => place === `node_modules/${name}` || place.endsWith(`/node_modules/${name}`),
    );
    // The one that all share comes first.
    const [shared] = found.sort(([a], [b]) => a.length - b.length);
    if (shared === undefined) return void response.writeHead(404).end("{}");
    const versions = Object.fromEntries(
      found.map(([place, each]) => [
        each.version,
        { name, ...each, dist: { tarball: `${url}${TARBALL}${place}` } },
      ]),
    );
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest: shared[1].version }, versions }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close() {
      server.close();
      rmSync(links, { recursive: true, force: true });
    },
  };
}

/** Everything in a tarball of the registry is below `package/`. */
function sendTarball(place: string, links: string, response: ServerResponse): void {
  const folder = mkdtempSync(join(links, "package-"));
  symlinkSync(join(REPOSITORY, place), join(folder, "package"));
  const tar = spawn("tar", ["-C", folder, "-chzf", "-", "package"], { stdio: ["ignore", "pipe", "inherit"] });
  tar.stdout.pipe(response);
}
