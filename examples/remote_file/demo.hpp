#pragma once

namespace remote_file {

/// Starts a server process with an empty folder, and stores and fetches a file as its client.
int demonstrate();

}  // namespace remote_file
