"""Files of the frameworks, made by the frameworks' own packages without calling any model.

`produce.py make FRAMEWORK...` prints one line a file: {"name", "format", "check", "document"}.
`produce.py check FRAMEWORK...` reads such lines back and has each document read by the package that wrote it.
"""

import json
import sys


def openai_files():
    from openai.types.chat import ChatCompletion, ChatCompletionMessage
    from openai.types.responses import Response, ResponseFunctionToolCall
    from openai.types.responses.response_input_item import FunctionCallOutput

    completion = ChatCompletion.model_validate({
        "id": "chatcmpl-AbC123", "object": "chat.completion", "created": 1772274600, "model": "some-model",
        "choices": [{
            "index": 0, "finish_reason": "tool_calls", "logprobs": None,
            "message": {"role": "assistant", "content": None, "refusal": None, "tool_calls": [
                {"id": "call_9XyZ0123456789abcdef", "type": "function",
                 "function": {"name": "get_weather", "arguments": '{"city": "Zürich", "days": 3}'}},
                {"id": "call_8XyZ0123456789abcdef", "type": "function",
                 "function": {"name": "ops__backup__check", "arguments": "{}"}},
                {"id": "call_7XyZ0123456789abcdef", "type": "custom",
                 "custom": {"name": "shell", "input": "ls -l"}},
            ]},
        }],
        "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
    })
    yield "completion", "openai", "openai.types.chat:ChatCompletion", completion.model_dump(mode="json")
    yield ("completion as sent", "openai", "openai.types.chat:ChatCompletion",
           completion.model_dump(mode="json", exclude_unset=True))
    message = completion.choices[0].message
    tools = [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in
             zip(message.tool_calls, ['{"degrees": 21.50}', "fine", "total 0"], strict=True)]
    params = "openai.types.chat.completion_create_params:CompletionCreateParamsNonStreaming"
    yield "request", "openai", params, {
        "model": "some-model", "temperature": 0.0,
        "messages": [
            {"role": "developer", "content": "Be short."},
            {"role": "user", "content": [{"type": "text", "text": "Weather?"}], "name": "ada"},
            message.model_dump(mode="json", exclude_none=True), *tools,
            {"role": "assistant", "content": "21.5 degrees."}],
        "tools": [{"type": "function", "function": {
            "name": "get_weather", "description": "The weather of a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]}
    yield "legacy", "openai", params, {
        "model": "old", "messages": [
            {"role": "user", "content": "Weather?"},
            ChatCompletionMessage(role="assistant", content=None, function_call={
                "name": "get_weather", "arguments": '{"city":"Bern"}'}).model_dump(mode="json", exclude_none=True)
            | {"content": None},
            {"role": "function", "name": "get_weather", "content": "rain"}]}
    response = Response.model_validate({
        "id": "resp_0123456789abcdef", "object": "response", "created_at": 1772274600.0, "model": "some-model",
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "completed",
        "output": [
            {"id": "rs_1", "type": "reasoning", "summary": []},
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]},
            {"id": "fc_1", "type": "function_call", "call_id": "call_5XyZ0123456789abcdef", "name": "get_weather",
             "arguments": '{"city":"Basel"}', "status": "completed"}]})
    yield "response", "openai", "openai.types.responses:Response", response.model_dump(mode="json")
    call = response.output[2]
    assert isinstance(call, ResponseFunctionToolCall)
    output = FunctionCallOutput(call_id=call.call_id, output="sun", type="function_call_output")
    yield ("response input", "openai", "openai.types.responses.response_create_params:ResponseCreateParamsNonStreaming", {
        "model": "some-model", "input": [
            {"role": "user", "content": "Weather?"},
            call.model_dump(mode="json", exclude_none=True), output.model_dump(mode="json", exclude_none=True)]})


def anthropic_files():
    from anthropic.types import Message

    message = Message.model_validate({
        "id": "msg_0123456789abcdefghij", "type": "message", "role": "assistant", "model": "some-model",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "toolu_0123456789abcdefghij", "name": "get_weather",
             "input": {"city": "Genève", "days": 3}},
            {"type": "tool_use", "id": "toolu_1123456789abcdefghij", "name": "list_files", "input": {}}],
        "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 20}})
    yield "message", "anthropic", "anthropic.types:Message", message.model_dump(mode="json")
    yield ("message as sent", "anthropic", "anthropic.types:Message",
           message.model_dump(mode="json", exclude_unset=True))
    yield "request", "anthropic", "anthropic.types.message_create_params:MessageCreateParamsNonStreaming", {
        "model": "some-model", "max_tokens": 100, "system": "Be short.",
        "messages": [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [block.model_dump(mode="json", exclude_unset=True)
                                              for block in message.content]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_0123456789abcdefghij",
                 "content": [{"type": "text", "text": "21 degrees"}]},
                {"type": "tool_result", "tool_use_id": "toolu_1123456789abcdefghij",
                 "content": "no such folder", "is_error": True},
                {"type": "text", "text": "And now?"}]}],
        "tools": [{"name": "get_weather", "description": "The weather of a city",
                   "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]}


def google_files():
    from google.genai import types

    call = types.FunctionCall(name="get_weather", args={"city": "Lugano", "days": 3})
    with_id = types.FunctionCall(id="fn-0123456789abcdef", name="ops.backup.check", args={})
    answer = types.Content(role="model", parts=[
        types.Part(text="Let me look.", thought=True), types.Part(function_call=call, thought_signature=b"\xfb\xff"),
        types.Part(function_call=with_id)])
    response = types.GenerateContentResponse(
        response_id="resp-0123456789abcdef", model_version="some-model",
        candidates=[types.Candidate(content=answer, finish_reason=types.FinishReason.STOP, index=0)],
        usage_metadata=types.GenerateContentResponseUsageMetadata(total_token_count=7))
    for name, options in (("", {}), (" of the interface", {"by_alias": True, "exclude_none": True})):
        yield ("response" + name, "google", "google.genai.types:GenerateContentResponse",
               response.model_dump(mode="json", **options))
    history = [
        types.Content(role="user", parts=[types.Part(text="Weather?")]), answer,
        types.Content(role="user", parts=[
            types.Part.from_function_response(name="get_weather", response={"output": {"degrees": 21.5}}),
            types.Part(function_response=types.FunctionResponse(
                id="fn-0123456789abcdef", name="ops.backup.check", response={"error": "no such cluster"}))])]
    yield ("contents", "google", "google.genai.types:Content",
           [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in history])
    declaration = types.FunctionDeclaration(
        name="get_weather", description="The weather of a city",
        parameters=types.Schema(type=types.Type.OBJECT, required=["city"], properties={
            "city": types.Schema(type=types.Type.STRING), "days": types.Schema(type=types.Type.INTEGER)}))
    tool = types.Tool(function_declarations=[declaration, types.FunctionDeclaration(
        name="ops.backup.check", parameters_json_schema={"type": "object", "additionalProperties": False})])
    yield ("declarations", "google", "google.genai.types:Tool",
           tool.model_dump(mode="json", by_alias=True, exclude_none=True))


def langchain_messages():
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    model = GenericFakeChatModel(messages=iter([AIMessage(
        content=[{"type": "text", "text": "Let me look."}], id="run--0123456789",
        tool_calls=[{"name": "get_weather", "args": {"city": "Sion", "days": 3}, "id": "call_0123456789abcdefgh"},
                    {"name": "lookup", "args": {}, "id": "1"}],
        invalid_tool_calls=[{"name": "broken", "args": "{", "id": "2", "error": "not JSON"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})]))
    said = model.invoke([HumanMessage("Weather?")])
    return [
        SystemMessage("Be short."), HumanMessage("Weather?", name="ada", id="h1"), said,
        ToolMessage("21 degrees", tool_call_id="call_0123456789abcdefgh", name="get_weather"),
        ToolMessage("no", tool_call_id="1", status="error", artifact={"why": [1, 2.50]}), AIMessage("Sun.")]


def langchain_files():
    from langchain_core.agents import AgentAction, AgentFinish, AgentStep
    from langchain_core.load import dumpd
    from langchain_core.messages import messages_to_dict

    messages = langchain_messages()
    yield "messages_to_dict", "langchain", "langchain:dicts", messages_to_dict(messages)
    yield "model_dump", "langchain", "langchain:dumps", [one.model_dump(mode="json") for one in messages]
    yield "dumpd", "langchain", "langchain:load", dumpd(messages)
    yield "one message", "langchain", "langchain:dumps", messages[2].model_dump(mode="json")
    action = AgentAction(tool="get_weather", tool_input={"city": "Chur"}, log="I call get_weather")
    yield ("agent step", "langchain", "langchain_core.agents:AgentStep",
           AgentStep(action=action, observation="snow").model_dump(mode="json"))
    yield "agent action", "langchain", "langchain_core.agents:AgentAction", action.model_dump(mode="json")
    yield ("agent finish", "langchain", "langchain_core.agents:AgentFinish",
           AgentFinish(return_values={"output": "snow"}, log="done").model_dump(mode="json"))


def langgraph_files():
    from langchain_core.load import dumpd
    from langchain_core.messages import messages_to_dict
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, MessagesState, StateGraph

    messages = langchain_messages()
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {"messages": [messages[2]]})
    graph.add_node("tools", lambda state: {"messages": messages[3:5]})
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "tools")
    graph.add_edge("tools", END)
    saver = InMemorySaver()
    compiled = graph.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "thread-1"}}
    start = {"messages": messages[:2]}
    updates = list(compiled.stream(start, config, stream_mode="updates"))
    yield "updates", "langgraph", "langchain:load", dumpd(updates)
    yield ("updates with dicts", "langgraph", "langgraph:dicts",
           [{node: {"messages": messages_to_dict(state["messages"])} for node, state in step.items()}
            for step in updates])
    for mode in ("values", "tasks", "debug", "checkpoints"):
        other = {"configurable": {"thread_id": f"thread-{mode}"}}
        steps = json.loads(json.dumps(list(compiled.stream(start, other, stream_mode=mode)), default=dumpd))
        yield f"stream of {mode}", "langgraph", "langchain:load", steps
    pairs = [["updates", dumpd(one)] for one in updates]
    yield "stream of several modes", "langgraph", "langchain:load", pairs
    snapshot = compiled.get_state(config)
    yield "snapshot", "langgraph", "langchain:load", json.loads(json.dumps(snapshot._asdict(), default=dumpd))
    checkpoint = saver.get(config)
    yield "checkpoint", "langgraph", "langchain:load", json.loads(json.dumps(checkpoint, default=dumpd))


def autogen_files():
    from autogen_agentchat.base import Response, TaskResult
    from autogen_agentchat.messages import (
        HandoffMessage, ModelClientStreamingChunkEvent, StopMessage, TextMessage, ThoughtEvent,
        ToolCallExecutionEvent, ToolCallRequestEvent, ToolCallSummaryMessage, UserInputRequestedEvent)
    from autogen_core import FunctionCall
    from autogen_core.models import (
        AssistantMessage, FunctionExecutionResult, FunctionExecutionResultMessage, RequestUsage, SystemMessage,
        UserMessage)

    call = FunctionCall(id="call_0123456789abcdefgh", name="get_weather", arguments='{"city": "Zug"}')
    other = FunctionCall(id="2", name="lookup", arguments="not json")
    good = FunctionExecutionResult(call_id=call.id, name=call.name, content="fog", is_error=False)
    bad = FunctionExecutionResult(call_id=other.id, name=other.name, content="no", is_error=True)
    messages = [
        TextMessage(source="user", content="Weather?"),
        ThoughtEvent(source="planner", content="Hm."),
        ToolCallRequestEvent(source="planner", content=[call, other],
                             models_usage=RequestUsage(prompt_tokens=1, completion_tokens=2)),
        ToolCallExecutionEvent(source="planner", content=[good, bad]),
        ToolCallSummaryMessage(source="planner", content="fog", tool_calls=[call], results=[good]),
        HandoffMessage(source="planner", target="writer", content="Your turn."),
        ModelClientStreamingChunkEvent(source="writer", content="It is "),
        UserInputRequestedEvent(source="user", request_id="r1"),
        TextMessage(source="writer", content="It is foggy.", metadata={"tone": "dry"}),
        StopMessage(source="critic", content="TERMINATE")]
    dumps = [one.model_dump(mode="json") for one in messages]
    yield "messages", "autogen", "autogen:messages", dumps
    yield "one message", "autogen", "autogen:messages", dumps[5]
    yield ("task result", "autogen", "autogen:result",
           TaskResult(messages=messages, stop_reason="said so").model_dump(mode="json"))
    response = Response(chat_message=messages[4], inner_messages=messages[2:4])
    yield "response", "autogen", "autogen:response", {
        "chat_message": response.chat_message.model_dump(mode="json"),
        "inner_messages": [one.model_dump(mode="json") for one in response.inner_messages]}
    models = [SystemMessage(content="Be short."), UserMessage(content="Weather?", source="user"),
              AssistantMessage(content=[call], source="planner", thought="Hm."),
              FunctionExecutionResultMessage(content=[good])]
    yield "model context", "autogen", "autogen:models", [one.model_dump(mode="json") for one in models]


def crewai_files():
    from crewai import CrewOutput, TaskOutput
    from crewai.tasks.output_format import OutputFormat
    from crewai.types.usage_metrics import UsageMetrics

    first = TaskOutput(
        description="Find out what the weather is", name="weather", expected_output="One line",
        raw="It is foggy.", agent="Senior Researcher")
    second = TaskOutput(
        description="Write it as JSON", raw='{"sky": "fog"}', json_dict={"sky": "fog"}, agent="Writer",
        output_format=OutputFormat.JSON)
    for output in (first, second):
        yield (f"output of {output.agent}", "crewai", "crewai:TaskOutput", output.model_dump(mode="json"))
    yield "outputs", "crewai", "crewai:TaskOutput", [first.model_dump(mode="json"), second.model_dump(mode="json")]
    crew = CrewOutput(raw=second.raw, json_dict=second.json_dict, tasks_output=[first, second],
                      token_usage=UsageMetrics(total_tokens=3))
    yield "crew output", "crewai", "crewai:CrewOutput", crew.model_dump(mode="json")


FRAMEWORKS = {
    "openai": openai_files, "anthropic": anthropic_files, "google": google_files, "langchain": langchain_files,
    "langgraph": langgraph_files, "autogen": autogen_files, "crewai": crewai_files}


def named(path):
    module, name = path.split(":")
    return getattr(__import__(module, fromlist=[name]), name)


def typed(kind, document):
    """A typed dictionary is checked as far as somebody looks, and as long as its adapter lives."""
    from pydantic import TypeAdapter

    adapter = TypeAdapter(kind)
    assert exhausted(adapter.validate_python(document)) == document


def exhausted(value):
    if isinstance(value, dict):
        return {name: exhausted(one) for name, one in value.items()}
    return value if isinstance(value, str) or not hasattr(value, "__iter__") else [exhausted(one) for one in value]


def by_type(module, document):
    documents = document if isinstance(document, list) else [document]
    for one in documents:
        read = getattr(__import__(module, fromlist=["x"]), one["type"]).model_validate(one)
        assert read.model_dump(mode="json") == one, (read, one)


def langchain_dumps(document):
    from langchain_core import messages

    classes = {"system": messages.SystemMessage, "human": messages.HumanMessage, "ai": messages.AIMessage,
               "tool": messages.ToolMessage}
    for one in document if isinstance(document, list) else [document]:
        assert classes[one["type"]].model_validate(one).model_dump(mode="json") == one


def langchain_dicts(document):
    from langchain_core.messages import messages_from_dict, messages_to_dict

    assert messages_to_dict(messages_from_dict(document)) == document


def langchain_load(document):
    from langchain_core.load import dumpd
    from langchain_core.load.load import load

    loaded = load(document, allowed_objects="core")
    assert json.loads(json.dumps(loaded, default=dumpd)) == document


def autogen_response(document):
    by_type("autogen_agentchat.messages", [document["chat_message"], *document["inner_messages"]])


CHECKS = {
    "langchain:dumps": langchain_dumps,
    "langchain:dicts": langchain_dicts,
    "langchain:load": langchain_load,
    "langgraph:dicts": lambda document: [
        langchain_dicts(state["messages"]) for step in document for state in step.values()],
    "autogen:messages": lambda document: by_type("autogen_agentchat.messages", document),
    "autogen:models": lambda document: by_type("autogen_core.models", document),
    "autogen:response": autogen_response,
    "autogen:result": lambda document: by_type("autogen_agentchat.messages", document["messages"]),
    "crewai:TaskOutput": lambda document: [
        same(named("crewai:TaskOutput"), one) for one in (document if isinstance(document, list) else [document])],
    "crewai:CrewOutput": lambda document: same(named("crewai:CrewOutput"), document),
}


def same(model, document):
    assert model.model_validate(document).model_dump(mode="json") == document


def anew(framework, document):
    """What was written anew is read as what the framework takes."""
    if framework == "openai":
        typed(list[named("openai.types.chat:ChatCompletionMessageParam")], document)
    elif framework == "anthropic":
        typed(list[named("anthropic.types:MessageParam")], document)
    elif framework == "google":
        contents = [named("google.genai.types:Content").model_validate(one) for one in document]
        assert [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in contents] == document
    elif framework in ("langchain", "langgraph"):
        from langchain_core.messages import messages_from_dict

        messages = messages_from_dict(document["messages"] if framework == "langgraph" else document)
        calls = [call["id"] for one in messages for call in getattr(one, "tool_calls", [])]
        assert calls, messages
    elif framework == "autogen":
        from autogen_agentchat import messages

        for one in document:
            getattr(messages, one["type"]).model_validate(one)
    else:
        for one in document:
            named("crewai:TaskOutput").model_validate(one)


def check(line):
    document, kind = line["document"], line["check"]
    if kind == "anew":
        return anew(line["format"], document)
    if kind in CHECKS:
        return CHECKS[kind](document)
    wanted = named(kind)
    for one in document if isinstance(document, list) else [document]:
        if hasattr(wanted, "model_validate"):
            read = wanted.model_validate(one)
            dumps = [read.model_dump(mode="json", **options) for options in (
                {}, {"exclude_unset": True}, {"exclude_none": True}, {"by_alias": True, "exclude_none": True})]
            assert one in dumps, (one, dumps[0])
        else:
            typed(wanted, one)
    return None


def main():
    verb, frameworks = sys.argv[1], sys.argv[2:]
    if verb == "make":
        for framework in frameworks:
            for name, form, kind, document in FRAMEWORKS[framework]():
                line = {"name": name, "format": form, "check": kind, "document": document}
                print(json.dumps(line, ensure_ascii=False))
        return
    count = 0
    for text in sys.stdin:
        line = json.loads(text)
        try:
            check(line)
        except Exception as error:
            raise SystemExit(f"{line['format']}, {line['name']} ({line['check']}): {error!r}") from error
        count += 1
    print(f"{count} documents are what the packages write")


main()
