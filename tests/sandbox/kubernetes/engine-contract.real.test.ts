import { describeEngine } from "../engine-contract.ts";
import { describeClustered, TestNamespace } from "./cluster.ts";

for (const channel of ["socket", "attached"] as const) {
  describeEngine(
    `of Kubernetes, with the channel ${channel}`,
    () => {
      const namespace = new TestNamespace(channel);
      return {
        engine: namespace.engine(channel),
        image: "ptc-runner",
        runtime: "runsc",
        open: () => namespace.open(3, ["javascript"]),
        close: () => namespace.close(),
      };
    },
    describeClustered,
  );
}
