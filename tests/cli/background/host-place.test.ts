import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HostFiles } from "../../../cli/background/host-files.ts";
import { findHost, findProject, type HostPlace, placeOf } from "../../../cli/background/host-place.ts";
import { currentProcess, formatIdentity } from "../../../system/process-identity.ts";

let folder: string;
let place: HostPlace;
const closing: (() => void)[] = [];

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "ptc-")));
  place = placeOf({ key: "0123456789abcdef0123" }, { XDG_RUNTIME_DIR: folder });
});

afterEach(() => {
  for (const close of closing.splice(0)) close();
  rmSync(folder, { recursive: true, force: true });
});

async function publish(): Promise<HostFiles> {
  const files = new HostFiles(place);
  const server = createServer();
  closing.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(files.socket, resolve));
  chmodSync(files.socket, 0o600);
  files.publish();
  return files;
}

describe("a project", () => {
  const at = (flag?: string) => findProject({ flag, env: {}, cwd: folder });

  it("is known by the real path of its configuration, and by the folder where there is none", () => {
    const without = at();
    expect(without).toBeDefined();
    writeFileSync(join(folder, "ptc.yaml"), "servers: []");
    symlinkSync("ptc.yaml", join(folder, "other.yaml"));
    expect(at()).toEqual(at("other.yaml"));
    expect(at()?.key).not.toBe(without?.key);
    const before = at();
    writeFileSync(join(folder, "ptc.yaml"), "servers:");
    expect(at()).toMatchObject({ key: before?.key });
    expect(at()?.fileDigest).not.toBe(before?.fileDigest);
  });

  it("is none where the configuration is missing, or no file", () => {
    expect(at("missing.yaml")).toBeUndefined();
    expect(at("/dev/null")).toBeUndefined();
    expect(at(".")).toBeUndefined();
  });
});

describe("the place of a host", () => {
  it("is private, and has the host that was published last", async () => {
    expect(findHost(place)).toBeUndefined();
    const files = await publish();
    expect(findHost(place)).toEqual({ socket: files.socket, token: files.token });
    expect(files.token).toMatch(/^[0-9a-f]{64}$/);
    expect(new HostFiles(place).token).toBe(files.token);
    for (const each of [place.folder, dirname(place.folder), dirname(dirname(place.folder))])
      expect(statSync(each).mode & 0o777).toBe(0o700);

    rmSync(place.link);
    symlinkSync("another.sock", place.link);
    expect(files.isPublished).toBe(false);
    files.withdraw();
    expect(readdirSync(place.folder).sort()).toEqual(["host.sock", "token"]);
  });

  it("clears the sockets of dead hosts, and no others", async () => {
    const self = currentProcess();
    mkdirSync(place.folder, { recursive: true, mode: 0o700 });
    const dead = `${formatIdentity({ ...self, startTime: "1" })}.sock`;
    const elsewhere = `${formatIdentity({ ...self, host: "00000000-1" })}.sock`;
    for (const name of [dead, elsewhere]) writeFileSync(join(place.folder, name), "");
    await publish();
    expect(readdirSync(place.folder)).not.toContain(dead);
    expect(readdirSync(place.folder)).toContain(elsewhere);
  });

  it("is refused when others can open or could have made a part of it", async () => {
    const files = await publish();
    for (const [path, mode, message] of [
      [dirname(place.folder), 0o755, /hosts is open to other users; chmod 700 it$/],
      [place.folder, 0o710, /is open to other users; chmod 700 it$/],
      [files.socket, 0o660, /\.sock is open to other users; chmod 600 it$/],
      [place.tokenFile, 0o644, /token is open to other users; chmod 600 it$/],
    ] as const) {
      const before = statSync(path).mode;
      chmodSync(path, mode);
      expect(() => findHost(place)).toThrow(message);
      chmodSync(path, before);
    }
    expect(findHost(place)).toBeDefined();

    rmSync(place.link);
    linkSync(files.socket, place.link);
    expect(() => findHost(place)).toThrow("host.sock is not a link; remove it");
    rmSync(place.link);
    symlinkSync("../elsewhere.sock", place.link);
    expect(() => findHost(place)).toThrow("leads out of its folder");

    rmSync(place.folder, { recursive: true });
    symlinkSync(tmpdir(), place.folder);
    expect(() => findHost(place)).toThrow(/is not a folder; remove it$/);
    expect(() => new HostFiles(place)).toThrow(/is not a folder; remove it$/);
  });

  it("knows of the hosts of other projects that live", async () => {
    const files = await publish();
    for (const [key, startTime] of [
      ["aaaaaaaaaaaaaaaa", currentProcess().startTime],
      ["bbbbbbbbbbbbbbbb", "1"],
    ] as const) {
      const other = placeOf({ key }, { XDG_RUNTIME_DIR: folder });
      mkdirSync(other.folder, { mode: 0o700 });
      symlinkSync(`${formatIdentity({ ...currentProcess(), startTime })}.sock`, other.link);
    }
    expect(files.countOthers()).toBe(1);
  });

  it("is claimed by one live process at a time", async () => {
    const files = new HostFiles(place);
    expect(files.claim()).toBe(true);
    expect(readFileSync(place.claim, "utf8")).toBe(formatIdentity(currentProcess()));
    expect(files.claim()).toBe(false);
    writeFileSync(place.claim, formatIdentity({ ...currentProcess(), startTime: "1" }));
    expect(files.claim()).toBe(true);
  });
});
