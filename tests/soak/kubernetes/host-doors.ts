import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server } from "node:net";

/**
 * Ways from the pods of the test cluster to what runs on this machine. Its pods can open no connection to the machine, so what stands in
 * a real cluster for a database, a server or the address of the API server is here a port of the node, which passes connections on.
 */
export class HostDoors {
  readonly #address: string;
  readonly #servers: Server[] = [];
  readonly #rules: string[][] = [];

  /** @param address of the node, which pods know. */
  constructor(address: string) {
    this.#address = address;
  }

  /** Lets pods connect to something. @returns where. */
  async open(target: NetConnectOpts): Promise<{ host: string; port: number }> {
    const server = createServer((socket) => {
      const behind = connect(target);
      const close = () => {
        socket.destroy();
        behind.destroy();
      };
      for (const each of [socket, behind]) each.on("error", close).on("close", close);
      socket.pipe(behind).pipe(socket);
    });
    server.listen(0, this.#address);
    await once(server, "listening");
    this.#servers.push(server);
    const { port } = server.address() as AddressInfo;
    const rule = ["INPUT", "-d", this.#address, "-p", "tcp", "--dport", `${port}`, "-j", "ACCEPT"];
    execFileSync("iptables", ["-w", "-I", ...rule]);
    this.#rules.push(rule);
    return { host: this.#address, port };
  }

  close(): void {
    for (const rule of this.#rules.splice(0)) execFileSync("iptables", ["-w", "-D", ...rule]);
    for (const server of this.#servers.splice(0)) server.close();
  }
}
