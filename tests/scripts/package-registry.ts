import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const REPOSITORY = join(import.meta.dirname, "../..");
const TARBALL = "/tarball/";

/** A package registry on this machine. It has the packages of this checkout's lock, as they are installed beside it. */
export interface PackageRegistry {
  url: string;
  close(): void;
}

export async function serveInstalledPackages(): Promise<PackageRegistry> {
  const lock = JSON.parse(readFileSync(join(REPOSITORY, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version: string }>;
  };
  const links = mkdtempSync(join(tmpdir(), "ptc-registry-"));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "");
    if (path.startsWith(TARBALL)) return sendTarball(path.slice(TARBALL.length), links, response);
    const name = path.slice(1);
    const found = lock.packages[`node_modules/${name}`];
    if (found === undefined) return void response.writeHead(404).end("{}");
    const dist = { tarball: `${url}${TARBALL}${name}` };
    const versions = { [found.version]: { name, ...found, dist } };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest: found.version }, versions }));
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
function sendTarball(name: string, links: string, response: ServerResponse): void {
  const folder = mkdtempSync(join(links, "package-"));
  symlinkSync(join(REPOSITORY, "node_modules", name), join(folder, "package"));
  const tar = spawn("tar", ["-C", folder, "-chzf", "-", "package"], { stdio: ["ignore", "pipe", "inherit"] });
  tar.stdout.pipe(response);
}
