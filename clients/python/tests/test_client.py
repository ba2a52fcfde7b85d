"""The client against a real ptc. ``PTC_COMMAND`` has the words that start it, ``PTC_URL`` where one is served over HTTP."""

import asyncio
import json
import os
import unittest
from typing import Any

from ptc_client import ProgressReport, Ptc, PtcError, PtcSync, Question

COMMAND = json.loads(os.environ["PTC_COMMAND"])
CONFIG = os.environ["PTC_TEST_CONFIG"]
URL = os.environ["PTC_URL"]
TOKEN = {"Authorization": f"Bearer {os.environ['PTC_TOKEN']}"}
ENV = {name: value for name, value in os.environ.items() if name.startswith(("XDG_", "HOME", "PATH", "PTC_"))}
DELETE = 'globalThis.result = await mcp__local__drop({ name: "notes" })'


def connect(**more: Any) -> Ptc:
    return Ptc(command=COMMAND, config=CONFIG, env=ENV, **more)


class Programs(unittest.IsolatedAsyncioTestCase):
    async def test_a_program_has_value_text_and_envelope(self) -> None:
        async with connect() as ptc:
            run = await ptc.run('console.log("hi"); globalThis.result = data.n + 1', data={"n": 41})
            self.assertIn("execute_program", ptc.instructions)
        self.assertEqual((run.ok, run.value, run.error, run.waiting), (True, 42, None, None))
        self.assertEqual(run.text, "[Script executed successfully]\nhi\n42")
        self.assertEqual(run.envelope["result"]["metrics"]["tool_calls"], 0)

    async def test_what_a_program_emits_is_apart_from_its_text(self) -> None:
        async with connect() as ptc:
            run = await ptc.run('emit("aside"); globalThis.result = 1')
        self.assertEqual([dict(block) for block in run.emitted], [{"type": "text", "text": "aside"}])

    async def test_a_failed_program_says_why(self) -> None:
        async with connect() as ptc:
            run = await ptc.run("throw new Error('no')")
        self.assertFalse(run.ok)
        assert run.error is not None
        self.assertEqual(run.error["type"], "ScriptError")

    async def test_a_program_that_cannot_be_run_is_an_error_in_one_line(self) -> None:
        async with connect() as ptc:
            with self.assertRaisesRegex(PtcError, "^code is empty[^\n]*$"):
                await ptc.run("")

    async def test_progress_names_the_calls(self) -> None:
        told: list[ProgressReport] = []
        async with connect() as ptc:
            await ptc.run('await mcp__local__count({ text: "a b" })', on_progress=told.append)
        self.assertIn("call 1: mcp__local__count", [report.message for report in told])

    async def test_cancelling_the_task_cancels_the_program(self) -> None:
        async with connect() as ptc:
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(ptc.run("await new Promise(() => setInterval(() => {}, 1000))"), 3)
            self.assertEqual((await ptc.run("globalThis.result = 1")).value, 1)

    async def test_without_a_ptc_there_is_an_error_in_words(self) -> None:
        with self.assertRaisesRegex(PtcError, "there is no connection to ptc"):
            async with Ptc(command=["/nowhere/ptc"]):
                pass


class Approvals(unittest.IsolatedAsyncioTestCase):
    async def test_approve_decides_about_a_call(self) -> None:
        asked: list[Question] = []

        async def approve(question: Question) -> bool:
            asked.append(question)
            return True

        async with connect(approve=approve) as ptc:
            run = await ptc.run(DELETE)
        self.assertEqual((run.ok, run.envelope["approval_state"]), (True, "APPROVED"))
        self.assertIn("mcp__local__drop", asked[0].message)

    async def test_a_no_is_a_no(self) -> None:
        async with connect(approve=lambda _: False) as ptc:
            run = await ptc.run(DELETE)
        self.assertEqual(run.envelope["approval_state"], "DENIED")

    async def test_without_approve_the_run_waits_and_another_connection_resumes_it(self) -> None:
        async with connect() as ptc:
            waits = await ptc.run(DELETE)
        assert waits.waiting is not None
        self.assertEqual(waits.waiting.tool, "mcp__local__drop")
        async with connect(approve=lambda _: True) as ptc:
            run = await ptc.resume(waits.waiting.ticket)
            self.assertEqual((run.ok, run.envelope["run_id"]), (True, waits.envelope["run_id"]))
            with self.assertRaises(PtcError):
                await ptc.resume(waits.waiting.ticket)
            with self.assertRaisesRegex(PtcError, "16 hexadecimal digits"):
                await ptc.resume("globalThis.result = 1")


class OverHttp(unittest.IsolatedAsyncioTestCase):
    async def test_a_program_runs_at_a_url_as_the_principal_of_the_token(self) -> None:
        async with Ptc(url=URL, headers=TOKEN) as ptc:
            run = await ptc.run("globalThis.result = data.n * 7", data={"n": 6})
            self.assertIn("execute_program", ptc.instructions)
            with self.assertRaisesRegex(PtcError, "^code is empty[^\n]*$"):
                await ptc.run("")
        self.assertEqual((run.ok, run.value, run.envelope["approval_state"]), (True, 42, "NOT_REQUIRED"))

    async def test_progress_and_approvals_reach_the_client(self) -> None:
        told: list[ProgressReport] = []
        asked: list[Question] = []

        def approve(question: Question) -> bool:
            asked.append(question)
            return True

        async with Ptc(url=URL, headers=TOKEN, approve=approve) as ptc:
            run = await ptc.run(f'await mcp__local__count({{ text: "a b" }}); {DELETE}', on_progress=told.append)
        self.assertEqual((run.ok, run.envelope["approval_state"]), (True, "APPROVED"))
        self.assertIn("mcp__local__drop", asked[0].message)
        self.assertIn("call 1: mcp__local__count", [report.message for report in told])

    async def test_a_run_that_waits_is_resumed_by_another_connection(self) -> None:
        async with Ptc(url=URL, headers=TOKEN) as ptc:
            waits = await ptc.run(DELETE)
        assert waits.waiting is not None
        async with Ptc(url=URL, headers=TOKEN, approve=lambda _: True) as ptc:
            run = await ptc.resume(waits.waiting.ticket)
        self.assertEqual((run.ok, run.envelope["run_id"]), (True, waits.envelope["run_id"]))

    async def test_without_a_token_that_counts_there_is_an_error_in_words(self) -> None:
        for headers in ({}, {"Authorization": "Bearer ptc_none"}):
            with self.assertRaisesRegex(PtcError, "there is no connection to ptc"):
                async with Ptc(url=URL, headers=headers):
                    pass

    async def test_an_sdk_has_its_tools_from_there(self) -> None:
        from ptc_client.langchain import ptc_tools

        async with Ptc(url=URL, headers=TOKEN) as ptc:
            tools = {tool.name: tool for tool in await ptc_tools(ptc)}
            ran = await tools["execute_program"].ainvoke(call("globalThis.result = 6 * 7"))
        self.assertEqual(ran.artifact.value, 42)

    def test_the_synchronous_client_is_the_same(self) -> None:
        with PtcSync(url=URL, headers=TOKEN, approve=lambda _: True) as ptc:
            self.assertEqual(ptc.run("globalThis.result = 6 * 7").value, 42)
            self.assertTrue(ptc.run(DELETE).ok)


class Synchronous(unittest.TestCase):
    def test_it_is_the_same_without_async(self) -> None:
        with PtcSync(command=COMMAND, config=CONFIG, env=ENV, approve=lambda _: True) as ptc:
            self.assertEqual(ptc.run("globalThis.result = 6 * 7").value, 42)
            self.assertTrue(ptc.run(DELETE).ok)
            self.assertIn("search_tools", [tool.name for tool in ptc.tools()])
        with self.assertRaises(PtcError):
            ptc.run("1")


class LangChain(unittest.IsolatedAsyncioTestCase):
    async def test_a_tool_call_gives_a_message_with_the_run(self) -> None:
        from ptc_client.langchain import ptc_tools

        async with connect() as ptc:
            tools = {tool.name: tool for tool in await ptc_tools(ptc)}
            ran = await tools["execute_program"].ainvoke(call("globalThis.result = 6 * 7"))
            failed = await tools["execute_program"].ainvoke(call("throw new Error('no')"))
        self.assertEqual((ran.content, ran.artifact.value), ("[Script executed successfully]\n42", 42))
        self.assertEqual(failed.status, "error")
        self.assertIn("[Script execution failed]", failed.content)

    def test_the_synchronous_client_has_tools_too(self) -> None:
        from ptc_client.langchain import ptc_tools_sync

        with PtcSync(command=COMMAND, config=CONFIG, env=ENV) as ptc:
            tools = {tool.name: tool for tool in ptc_tools_sync(ptc)}
            self.assertEqual(tools["execute_program"].invoke(call("globalThis.result = 1")).artifact.value, 1)


class PydanticAi(unittest.IsolatedAsyncioTestCase):
    async def test_a_model_runs_a_program_and_reads_its_text(self) -> None:
        from ptc_client.pydantic_ai import ptc_tools
        from pydantic_ai import Agent
        from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import AgentInfo, FunctionModel

        told: list[str] = []

        def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
            if len(messages) == 1:
                return ModelResponse([ToolCallPart("execute_program", {"code": "globalThis.result = 6 * 7"})])
            told.append(str(messages[-1].parts[0].content))
            return ModelResponse([TextPart("It is 42.")])

        async with connect() as ptc:
            agent = Agent(FunctionModel(model), tools=await ptc_tools(ptc))
            self.assertEqual((await agent.run("Go on.")).output, "It is 42.")
        self.assertEqual(told, ["[Script executed successfully]\n42"])


class OpenAiAgents(unittest.IsolatedAsyncioTestCase):
    async def test_a_model_runs_a_program_and_reads_its_text(self) -> None:
        from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
        from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
        from ptc_client.openai_agents import ptc_tools

        told: list[Any] = []

        class Scripted(Model):
            async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
                told.append(input)
                if len(told) == 1:
                    code = json.dumps({"code": "globalThis.result = 6 * 7"})
                    said: Any = ResponseFunctionToolCall(
                        type="function_call", call_id="1", name="execute_program", arguments=code
                    )
                else:
                    text = ResponseOutputText(type="output_text", text="It is 42.", annotations=[])
                    said = ResponseOutputMessage(id="2", type="message", role="assistant", status="completed", content=[text])
                return ModelResponse(output=[said], usage=Usage(), response_id=None)

            def stream_response(self, *_: Any, **__: Any) -> Any:
                raise NotImplementedError

        async with connect() as ptc:
            agent = Agent(name="a", model=Scripted(), tools=list(await ptc_tools(ptc)))
            ended = await Runner.run(agent, "Go on.", run_config=RunConfig(tracing_disabled=True))
        self.assertEqual(ended.final_output, "It is 42.")
        self.assertIn("[Script executed successfully]\\n42", json.dumps(told[1]))


def call(code: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": "1", "name": "execute_program", "args": {"code": code}}


if __name__ == "__main__":
    unittest.main()
