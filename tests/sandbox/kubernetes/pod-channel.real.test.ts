import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { LAUNCHER_PORT } from "../../../protocol/launcher.ts";
import { connectLauncher, readLauncherKeys } from "../../../sandbox/kubernetes/pod-channel.ts";
import { newFolder } from "../../temporary-folder.ts";
import { makeCertificates } from "./namespace.ts";

test("a launcher that does not listen yet is connected to when it does", async () => {
  const folder = newFolder();
  makeCertificates(folder);
  const read = (name: string) => readFileSync(join(folder, name));
  const connecting = connectLauncher("127.0.0.1", readLauncherKeys(folder));
  await new Promise((resolve) => setTimeout(resolve, 300));
  const server = createServer({
    ...{ cert: read("program.crt"), key: read("program.key"), ca: read("ca.crt") },
    ...{ requestCert: true, rejectUnauthorized: true },
  }).listen(LAUNCHER_PORT, "127.0.0.1");
  onTestFinished(() => void server.close());
  const [accepted] = await once(server, "secureConnection");
  const stream = await connecting;
  expect(stream.destroyed).toBe(false);
  stream.destroy();
  accepted.destroy();
});
