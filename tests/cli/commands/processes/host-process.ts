/** A background host in a folder, which runs no commands. It says `ready`, and ends when it is asked to. */
import { join } from "node:path";
import { HostFiles } from "../../../../project/background/host-files.ts";
import { HostListener } from "../../../../project/background/host-listener.ts";

const folder = process.argv[2] ?? "";
const files = new HostFiles({
  folder,
  link: join(folder, "host.sock"),
  tokenFile: join(folder, "token"),
  claim: join(folder, "starting"),
});
const { socket, token } = files;
const listener: HostListener = await HostListener.open({
  socket,
  token,
  differingVariables: () => [],
  identity: { build: "", fileDigest: "", configuration: "", environment: "" },
  host: undefined as never,
  runCommand: async () => 0,
  idleMs: 2 ** 31 - 1,
  isNeeded: async () => true,
  onRetire: () => {
    files.withdraw();
    void listener.close();
  },
});
files.publish();
console.log("ready");
