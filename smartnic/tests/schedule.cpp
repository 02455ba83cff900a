// SPDX-License-Identifier: Apache-2.0
// Prints the choices of Hermod's scheduler: `offramp-nic-schedule FILE`, whose lines Python made and whose answers it compares.
//
//   add NUMBER IN_ORDER DSCP KEYS KEY… PIECES (PEER MESSAGE START STOP)…     ready PEER MESSAGE
//   block PEER DSCP     unblock PEER DSCP     next MOST: prints peer, message, start and bytes of a frame, or "-"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "hermod/scheduler.hpp"

using namespace offramp::hermod;

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: offramp-nic-schedule FILE\n");
        return 2;
    }
    std::ifstream file(arguments[1]);
    Scheduler scheduler;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Outgoing> outgoing;
    std::vector<std::unique_ptr<Coflow>> coflows;
    std::vector<Lane> blocked;
    for (std::string word; file >> word;) {
        if (word == "add") {
            auto coflow = std::make_unique<Coflow>();
            unsigned dscp = 0, keys = 0, pieces = 0;
            file >> coflow->number >> coflow->in_order >> dscp >> keys;
            coflow->dscp = static_cast<std::uint8_t>(dscp);
            coflow->key.resize(keys);
            for (auto& key : coflow->key) file >> key;
            file >> pieces;
            for (unsigned i = 0; i < pieces; ++i) {
                std::uint32_t peer = 0, message = 0;
                Piece piece{};
                file >> peer >> message >> piece.start >> piece.stop;
                piece.outgoing = &outgoing[{peer, message}];
                piece.outgoing->peer = peer;
                piece.outgoing->message = message;
                piece.outgoing->coflow = coflow.get();
                coflow->pieces.push_back(piece);
            }
            scheduler.add(*coflow);
            coflows.push_back(std::move(coflow));
        } else if (word == "next") {
            std::uint64_t most = 0;
            file >> most;
            if (const auto choice = scheduler.next(blocked)) {
                const Piece piece = choice.piece();
                const std::uint64_t bytes = std::min(most, piece.stop - piece.start);
                std::cout << piece.outgoing->peer << ' ' << piece.outgoing->message << ' ' << piece.start << ' ' << bytes
                          << '\n';
                scheduler.sent(choice, bytes);
            } else {
                std::cout << "-\n";
            }
        } else {
            std::uint32_t peer = 0, number = 0;
            file >> peer >> number;
            const Lane lane{peer, static_cast<std::uint8_t>(number)};
            if (word == "ready")
                outgoing[{peer, number}].ready = true;
            else if (word == "block")
                blocked.push_back(lane);
            else
                std::erase(blocked, lane);
        }
    }
    return 0;
}
