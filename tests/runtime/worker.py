"""A worker on the runtime of ai-dynamo with an engine that echoes the prompt, one token after the other. Request plane,
discovery, the system port with /health, /live and /v1/loras, and the download and registration of adapters are those of
the runtime. What it says of adapters is what the worker of vLLM says.

    worker.py --model NAME [--enable-lora] [--token-seconds SECONDS]
              [--dist-init-addr HOST:PORT --nnodes NUMBER --node-rank NUMBER]

With the flags of SGLang for several nodes, only the node with rank 0 serves, when all others have joined it. None of them can go on
without the others. DYN_DISCOVERY_BACKEND and DYN_REQUEST_PLANE are those of other workers."""

import argparse
import asyncio
import collections
import os
import signal

import uvloop
from dynamo import llm
from dynamo.common.lora import LoRAManager
from dynamo.common.utils.graceful_shutdown import install_signal_handlers
from dynamo.common.utils.namespace import get_worker_namespace
from dynamo.llm import ModelInput, ModelType, lora_name_to_id, register_model, unregister_model
from dynamo.runtime import DistributedRuntime
from dynamo.runtime.logging import configure_dynamo_logging

SERVED = ModelType.Chat | ModelType.Completions
# 1.0.0 has no types of workers. Later versions require one.
WORKER_TYPE = {"worker_type": llm.WorkerType.Aggregated} if hasattr(llm, "WorkerType") else {}
RETRY_SECONDS = 0.2


async def lead(port, others):
    """Returns when `others` nodes have joined. The process ends when one of them goes."""
    joined = asyncio.Semaphore(0)

    async def join(reader, _):
        joined.release()
        await reader.read()
        print("another node of this worker is gone", flush=True)
        os._exit(1)

    await asyncio.start_server(join, "0.0.0.0", port)
    for _ in range(others):
        await joined.acquire()


async def follow(host, port):
    """Joins the node with rank 0, and returns when that one goes."""
    while True:
        try:
            reader, _ = await asyncio.open_connection(host, port)
            break
        except OSError:
            await asyncio.sleep(RETRY_SECONDS)
    print("joined", flush=True)
    await reader.read()
    print("the node with rank 0 is gone", flush=True)


class Worker:
    def __init__(self, runtime, options):
        self.options = options
        self.endpoint = {
            name: runtime.endpoint(f"{get_worker_namespace()}.backend.{name}")
            for name in ("generate", "load_lora", "unload_lora", "list_loras")
        }
        self.manager = LoRAManager() if options.enable_lora else None
        self.loras = {}
        self.locks = collections.defaultdict(asyncio.Lock)  # by the name of the adapter

    async def generate(self, request, context=None):
        prompt = list(request.get("token_ids") or [3])
        count = (request.get("stop_conditions") or {}).get("max_tokens") or len(prompt)
        for number in range(count):
            await asyncio.sleep(self.options.token_seconds)
            answer = {"token_ids": [prompt[number % len(prompt)]]}
            if number == count - 1:
                answer["finish_reason"] = "stop"
            yield answer

    async def load_lora(self, request=None):
        request = request or {}
        name, uri = request.get("lora_name"), (request.get("source") or {}).get("uri")
        if not name or not uri:
            yield {"status": "error", "message": "'lora_name' and 'source.uri' are required"}
            return
        async with self.locks[name]:
            if name not in self.loras:
                found = await self.manager.download_lora(uri)
                if found["status"] != "success":
                    yield {"status": "error", "message": f"Failed to download LoRA: {found.get('message')}"}
                    return
                self.loras[name] = lora_name_to_id(name)
                await register_model(
                    model_input=ModelInput.Tokens,
                    model_type=SERVED,
                    endpoint=self.endpoint["generate"],
                    model_path=self.options.model,
                    user_data={"lora_adapter": True, "lora_id": self.loras[name]},
                    lora_name=name,
                    base_model_path=self.options.model,
                    **WORKER_TYPE,
                )
        yield {"status": "success", "lora_name": name, "lora_id": self.loras[name]}

    async def unload_lora(self, request=None):
        name = (request or {}).get("lora_name")
        if name not in self.loras:
            yield {"status": "error", "message": f"LoRA adapter '{name}' not found"}
            return
        number = self.loras.pop(name)
        await unregister_model(endpoint=self.endpoint["generate"], lora_name=name)
        yield {"status": "success", "lora_name": name, "lora_id": number}

    async def list_loras(self, request=None):
        yield {"status": "success", "loras": self.loras, "count": len(self.loras)}

    async def serve(self):
        generate = self.endpoint["generate"]
        await register_model(ModelInput.Tokens, SERVED, generate, self.options.model, **WORKER_TYPE)
        probe = {"token_ids": [3], "stop_conditions": {"max_tokens": 1}}
        serving = [generate.serve_endpoint(self.generate, graceful_shutdown=True, health_check_payload=probe)]
        if self.options.enable_lora:
            for name in ("load_lora", "unload_lora", "list_loras"):
                serving.append(self.endpoint[name].serve_endpoint(getattr(self, name)))
        await asyncio.gather(*serving)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--enable-lora", action="store_true")
    parser.add_argument("--token-seconds", type=float, default=0.0)
    parser.add_argument("--dist-init-addr", default="localhost:29500")
    parser.add_argument("--nnodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    options = parser.parse_args()
    configure_dynamo_logging()
    loop = asyncio.get_running_loop()
    # The first process of a container ignores signals for which it has no handler.
    loop.add_signal_handler(signal.SIGTERM, os._exit, 0)
    host, port = options.dist_init_addr.rsplit(":", 1)
    if options.node_rank > 0:
        return await follow(host, int(port))
    if options.nnodes > 1:
        await lead(int(port), options.nnodes - 1)
    discovery, plane = os.environ.get("DYN_DISCOVERY_BACKEND", "etcd"), os.environ.get("DYN_REQUEST_PLANE", "tcp")
    runtime = DistributedRuntime(loop, discovery, plane, False)
    worker = Worker(runtime, options)
    # As the workers of vLLM, SGLang and TensorRT-LLM: discovery forgets the endpoint some seconds before it stops.
    install_signal_handlers(loop, runtime, [worker.endpoint["generate"]])
    await worker.serve()


if __name__ == "__main__":
    uvloop.run(main())
