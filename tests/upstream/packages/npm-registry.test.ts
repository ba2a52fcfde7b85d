import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PackageLayers } from "../../../upstream/packages/package-layers.ts";

/** A registry on this machine with one package, whose install script would leave a mark. */
async function setUp() {
  const directory = mkdtempSync(join(tmpdir(), "ptc-registry-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const mark = join(directory, "mark");
  const pack = (code: string) => {
    const folder = join(directory, "package");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "main.js"), `#!/usr/bin/env node\n${code}\n`, { mode: 0o755 });
    const scripts = { postinstall: `touch ${mark}`, preinstall: `touch ${mark}` };
    const manifest = { name: "a-server", version: "1.0.0", bin: "main.js", scripts, hasInstallScript: true };
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    execFileSync("tar", ["-czf", join(directory, "a.tgz"), "-C", directory, "package"]);
    return { manifest, tarball: readFileSync(join(directory, "a.tgz")) };
  };
  const registry = { ...pack("// first"), asked: [] as string[] };
  const server = createServer((request, response) => {
    registry.asked.push(request.url ?? "");
    if (request.url === "/a.tgz") return void response.end(registry.tarball);
    if (request.url !== "/a-server") return void response.writeHead(404).end("{}");
    const integrity = `sha512-${createHash("sha512").update(registry.tarball).digest("base64")}`;
    const tarball = `http://${request.headers.host}/a.tgz`;
    const version = { ...registry.manifest, dist: { integrity, tarball } };
    response.end(
      JSON.stringify({ name: "a-server", "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": version } }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const get = (resolves: boolean, cache: string) => {
    const layers = new PackageLayers({
      ...{ directory, servers: new Set(["one"]), resolves, arch: "x64", python: "3.11", observer: {} },
    });
    const env = {
      npm_config_registry: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      npm_config_cache: join(directory, cache),
    };
    const command = { kind: "npm", packages: ["a-server"], program: undefined, args: [] } as const;
    return layers.get("one", command, env, new AbortController().signal);
  };
  return { directory, mark, registry, pack, get };
}

test("npm installs a package without running its install scripts, and the lock names no registry", async () => {
  const { directory, mark, get } = await setUp();
  const { folder } = await get(true, "cache");
  expect(readFileSync(join(folder, "node_modules/a-server/main.js"), "utf8")).toContain("// first");
  expect(existsSync(mark)).toBe(false);
  const lock = readFileSync(join(directory, "ptc.packages.json"), "utf8");
  expect(lock).toContain('"integrity": "sha512-');
  expect(lock).not.toContain("127.0.0.1");
}, 120_000);

test("a package that the registry has changed under the same version is refused, until it is generated again", async () => {
  const { directory, registry, pack, get } = await setUp();
  await get(true, "cache");
  rmSync(join(directory, ".ptc"), { recursive: true });
  Object.assign(registry, pack("// second"));
  await expect(get(false, "other")).rejects.toThrow(
    /^its packages cannot be fetched: a package is not the one that ptc\.packages\.json names \(.*\); if you trust it, run `ptc generate`$/,
  );
  const { folder } = await get(true, "other");
  expect(readFileSync(join(folder, "node_modules/a-server/main.js"), "utf8")).toContain("// second");
}, 120_000);

test("packages that are here start without a registry", async () => {
  const { registry, get } = await setUp();
  await get(true, "cache");
  const asked = registry.asked.length;
  await get(false, "other");
  expect(registry.asked).toHaveLength(asked);
}, 120_000);
