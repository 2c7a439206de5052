#pragma once

/// Encoding of plain structs, strings, containers and optionals into little-endian bytes and back (`C2`,
/// `F2`); the bytes are in docs/wire.md.
///
///     struct request { std::uint64_t epoch; std::string name; std::vector<std::uint32_t> ranks; };
///     auto size = scoll::wire::encode_to(buffer, request{7, "scrub", {1, 2}});
///     auto back = scoll::wire::decode_from<request>(buffer.first(*size));

#include "borrowed.hpp"
#include "checksum.hpp"
#include "customize.hpp"
#include "decode.hpp"
#include "encodable.hpp"
#include "encode.hpp"
#include "layout.hpp"
#include "limits.hpp"
#include "raw.hpp"
#include "reader.hpp"
#include "varint.hpp"
#include "versioned.hpp"
#include "writer.hpp"
