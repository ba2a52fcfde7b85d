import { ProcessEngine } from "../runner-image/process-engine.ts";
import { describeEngine } from "./engine-contract.ts";

describeEngine("of processes without a wall", () => ({
  engine: new ProcessEngine(),
  image: "none",
  runtime: "none",
  close() {},
}));
