# Serves a resources server that comes with nemo-gym, without the framework's own agents and models.
#
#   python nemo_gym_server.py NAME PORT        such as reasoning_gym, example_session_state_mgmt
import importlib
import inspect
import sys

import uvicorn
from nemo_gym.base_resources_server import SimpleResourcesServer
from nemo_gym.server_utils import BaseServerConfig, ServerClient
from omegaconf import DictConfig

name, port = sys.argv[1], int(sys.argv[2])
module = importlib.import_module(f"resources_servers.{name}.app")
Server = next(
    kind
    for _, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, SimpleResourcesServer) and kind.__module__ == module.__name__
)
Config = Server.model_fields["config"].annotation
server = Server(
    config=Config(host="127.0.0.1", port=port, entrypoint="app.py", name=name),
    server_client=ServerClient(
        head_server_config=BaseServerConfig(host="127.0.0.1", port=0), global_config_dict=DictConfig({})
    ),
)
uvicorn.run(server.setup_webserver(), host="127.0.0.1", port=port, log_level="warning")
