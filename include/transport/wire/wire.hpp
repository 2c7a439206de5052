#pragma once

/// Encoding of plain structs, strings, containers and optionals into little-endian bytes and back. The bytes
/// are specified in docs/wire.md.
///
///     struct request { std::uint64_t epoch; std::string name; std::vector<std::uint32_t> ranks; };
///     auto size = scoll::wire::encode_to(buffer, request{7, "scrub", {1, 2}});
///     auto back = scoll::wire::decode_from<request>(buffer.first(*size));

#include "transport/wire/borrowed.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/customize.hpp"
#include "transport/wire/decode.hpp"
#include "transport/wire/encodable.hpp"
#include "transport/wire/encode.hpp"
#include "transport/wire/layout.hpp"
#include "transport/wire/limits.hpp"
#include "transport/wire/raw.hpp"
#include "transport/wire/reader.hpp"
#include "transport/wire/varint.hpp"
#include "transport/wire/versioned.hpp"
#include "transport/wire/writer.hpp"
